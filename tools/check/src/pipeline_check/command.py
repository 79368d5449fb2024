"""`pipeline check`: the options, and which of the checks they ask for."""

# ruff: noqa: PLC0415 - what is not asked for is not imported: the static audit starts in a fraction of a second

import os
import sys
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from pipeline_check.clients.client import UnknownVersionError
from pipeline_check.ignores import FILE
from pipeline_check.walk import NothingThereError

Form = StrEnum("Form", ["table", "json", "sarif"])
Level = StrEnum("Level", ["error", "warning", "note", "never"])
Paths = Annotated[
    list[Path] | None, typer.Argument(help="Files, or folders to walk; the current one if none.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]
Sarif = Annotated[bool, typer.Option("--sarif", help="Print SARIF, for code scanning.")]
FailOn = Annotated[Level, typer.Option(help="Exit 1 from this severity on.")]
Versions = Annotated[
    list[str] | None,
    typer.Option(
        "--client-version",
        metavar="CLIENT=VERSION",
        help="Such as java=3.1.0; again for another client.",
    ),
]
IgnoreFile = Annotated[Path, typer.Option(help="Lines of: id, pattern of files, reason.")]
Live = Annotated[
    bool, typer.Option("--live", help="Ask the running Postgres, Connect and broker, too.")
]
Budget = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FILE|NAME=VALUE",
        help="Print every sum of this intent: pyproject.toml; or try a number.",
    ),
]


def check(  # noqa: PLR0913, PLR0917 - one for each option
    paths: Paths = None,
    as_json: Json = False,
    sarif: Sarif = False,
    fail_on: FailOn = Level.warning,
    client_version: Versions = None,
    ignore_file: IgnoreFile = Path(FILE),
    live: Live = False,
    budget: Budget = None,
) -> None:
    """Say which producers are idempotent, which only look so, what is lost at the other ends, and what to write."""
    if budget:
        raise typer.Exit(part("budget.command").main(budget))
    form = Form.json if as_json else Form.sarif if sarif else Form.table
    try:
        code = static(
            paths or [Path()], form, fail_on, client_version or [], ignore_file, live=live
        )
    except (NothingThereError, UnknownVersionError) as failure:
        print(f"pipeline check: {failure}", file=sys.stderr)
        code = 2
    raise typer.Exit(code)


def static(  # noqa: PLR0913 - what was asked for
    paths: list[Path],
    form: Form,
    fail_on: Level,
    versions: list[str],
    ignore_file: Path,
    *,
    live: bool,
) -> int:
    """Audit files, and what runs if that was asked for, and return the exit code."""
    from pipeline_check.audit import audit, look
    from pipeline_check.budget.audited import budgets
    from pipeline_check.clients.client import versions as named
    from pipeline_check.ignores import from_file
    from pipeline_check.output import failing, print_as
    from pipeline_check.walk import files

    looked = look(files(paths), from_file(ignore_file))
    running = part("live.command").look(os.environ, looked.blocks, looked.sql) if live else []
    found = audit(looked, named(versions), [*budgets(looked.files), *running])
    print_as(form.value, found)
    if any(each.id == "cannot-look" for each in running):
        return 2
    return 1 if failing(found.every(), fail_on.value) else 0


def part(name: str) -> Any:
    """A part of the check that is imported when it is asked for: it may need more than the base dependencies."""
    return import_module(f"pipeline_check.{name}")


def main() -> None:
    """`pipeline-check`, where the pipeline is not installed."""
    typer.run(check)
