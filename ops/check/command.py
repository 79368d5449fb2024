"""`pipeline check`: the options, and which of the audits they ask for."""

# ruff: noqa: PLC0415 - what is not asked for is not imported: the static audit starts in a fraction of a second

import os
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from ops.check.ignores import FILE


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
Prove = Annotated[str, typer.Option("--prove", metavar="python|java|connect", help="Lose acknowledgements, and count.")]
Bootstrap = Annotated[str, typer.Option(help="Your cluster: look at the bytes of --topic, read-only.")]


def check(  # noqa: PLR0913, PLR0917 - one for each option
    paths: Paths = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")] = False,
    sarif: Annotated[bool, typer.Option("--sarif", help="Print SARIF, for code scanning.")] = False,
    fail_on: Annotated[Level, typer.Option(help="Exit 1 from this severity on.")] = Level.warning,
    client_version: Versions = None,
    ignore_file: Annotated[Path, typer.Option(help="Lines of: id, pattern of files, reason.")] = Path(FILE),
    live: Annotated[bool, typer.Option(help="Ask the running Postgres, Connect and broker, too.")] = False,
    prove: Prove = "",
    messages: Annotated[int, typer.Option(min=1, help="With --prove: how many.")] = 20_000,
    lost_acks: Annotated[int, typer.Option(min=1, help="With --prove: how many go missing.")] = 200,
    bootstrap: Bootstrap = "",
    topic: Annotated[str, typer.Option(help="With --bootstrap: the topic.")] = "",
) -> None:
    """Say which producers are idempotent, which only look so, what is lost at the other ends, and what to write."""
    if bootstrap or topic:
        raise typer.Exit(part("prove.cluster").look(bootstrap, topic, messages, as_json=as_json))
    if prove:
        raise typer.Exit(part("prove.command").prove(prove, messages, lost_acks, paths or [], as_json=as_json))
    from ops.check.audit import audit, look
    from ops.check.ignores import from_file
    from ops.check.output import failing, print_as
    from ops.check.walk import files

    looked = look(files(paths or [Path()]), from_file(ignore_file))
    asked = part("live.command").look(os.environ, looked.blocks) if live else []
    found = audit(looked, versions(client_version or []), asked)
    print_as("json" if as_json else "sarif" if sarif else "table", found)
    if any(each.id == "cannot-look" for each in asked):
        raise typer.Exit(2)
    raise typer.Exit(1 if failing(found.every(), fail_on) else 0)


def part(name: str) -> Any:
    """A part of the check that is imported when it is asked for, and that needs more than the base dependencies."""
    try:
        return import_module(f"ops.check.{name}")
    except ImportError as missing:
        extras = "pip install 'outbox-pipeline[service,ops]'"
        raise typer.BadParameter(f"this needs {missing.name}, which is not installed: {extras}") from None


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
