"""`pipeline check`: the options, and which of the audits they ask for."""

# ruff: noqa: PLC0415 - what is not asked for is not imported: the static audit starts in a fraction of a second

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Level(StrEnum):
    """From which severity on there is something to fail for."""

    error = "error"
    warning = "warning"
    note = "note"
    never = "never"


Paths = Annotated[list[Path] | None, typer.Argument(help="Files, or folders to walk; the current one if none.")]
Versions = Annotated[
    list[str] | None,
    typer.Option("--client-version", metavar="CLIENT=VERSION", help="Such as java=3.1.0; again for another client."),
]


def check(  # noqa: PLR0913, PLR0917 - one for each option
    paths: Paths = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")] = False,
    sarif: Annotated[bool, typer.Option("--sarif", help="Print SARIF, for code scanning.")] = False,
    fail_on: Annotated[Level, typer.Option(help="Exit 1 from this severity on.")] = Level.warning,
    client_version: Versions = None,
    ignore_file: Annotated[Path, typer.Option(help="Lines of: id, pattern of files, reason.")] = Path(
        ".pipeline-check-ignore"
    ),
) -> None:
    """Say which producers are idempotent, which only look so, what is lost at the other ends, and what to write."""
    from ops.check.audit import audit, look
    from ops.check.ignores import from_file
    from ops.check.output import as_json as document
    from ops.check.output import as_sarif, failing
    from ops.check.walk import files

    looked = look(files(paths or [Path()]), from_file(ignore_file))
    found = audit(looked, versions(client_version or []))
    if as_json or sarif:
        print(json.dumps(document(found) if as_json else as_sarif(found), indent=2))
    else:
        from rich.console import Console

        from ops.check.table import print_table

        print_table(found, Console(emoji=False))
    raise typer.Exit(1 if failing(found.every(), fail_on) else 0)


def versions(texts: list[str]) -> dict[str, tuple[int, ...]]:
    """The versions that were named, by client."""
    from ops.check.clients.client import CLIENTS

    known = sorted({client.name for client in CLIENTS.values()})
    found = {}
    for text in texts:
        client, _, version = text.partition("=")
        parts = version.split(".")
        if client not in known or not all(part.isdigit() for part in parts):
            raise typer.BadParameter(f"{text}: say CLIENT=VERSION, such as java=3.1.0; clients are {', '.join(known)}")
        found[client] = tuple(map(int, parts))
    return found
