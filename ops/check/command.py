"""`pipeline check`: the options, and which of the checks they ask for."""

# ruff: noqa: PLC0415 - what is not asked for is not imported: the static audit starts in a fraction of a second

import os
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from ops.check.ignores import FILE

Form = StrEnum("Form", ["table", "json", "sarif"])
Level = StrEnum("Level", ["error", "warning", "note", "never"])
Paths = Annotated[list[Path] | None, typer.Argument(help="Files, or folders to walk; the current one if none.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]
Sarif = Annotated[bool, typer.Option("--sarif", help="Print SARIF, for code scanning.")]
FailOn = Annotated[Level, typer.Option(help="Exit 1 from this severity on.")]
Versions = Annotated[
    list[str] | None,
    typer.Option("--client-version", metavar="CLIENT=VERSION", help="Such as java=3.1.0; again for another client."),
]
IgnoreFile = Annotated[Path, typer.Option(help="Lines of: id, pattern of files, reason.")]
Live = Annotated[bool, typer.Option("--live", help="Ask the running Postgres, Connect and broker, too.")]
Budget = Annotated[
    list[str] | None,
    typer.Option(metavar="FILE|NAME=VALUE", help="Print every sum of this intent: pyproject.toml; or try a number."),
]
Prove = Annotated[
    str, typer.Option(metavar="[python|java|connect]", help="Lose acknowledgements, and count; python unless named.")
]
Messages = Annotated[
    int, typer.Option(min=1, help="With --prove: how many are sent; with --bootstrap: the newest of a partition.")
]
LostAcks = Annotated[int, typer.Option(min=1, help="With --prove: how many acknowledgements go missing.")]
Bootstrap = Annotated[str, typer.Option(help="Your own cluster: look at the bytes of --topic; only reads.")]
Topic = Annotated[str, typer.Option(help="With --bootstrap: the topic.")]


def check(  # noqa: PLR0913, PLR0917 - one for each option
    paths: Paths = None,
    as_json: Json = False,
    sarif: Sarif = False,
    fail_on: FailOn = Level.warning,
    client_version: Versions = None,
    ignore_file: IgnoreFile = Path(FILE),
    live: Live = False,
    budget: Budget = None,
    prove: Prove = "",
    messages: Messages = 20_000,
    lost_acks: LostAcks = 200,
    bootstrap: Bootstrap = "",
    topic: Topic = "",
) -> None:
    """Say which producers are idempotent, which only look so, what is lost at the other ends, and what to write."""
    if bootstrap or topic:
        raise typer.Exit(part("prove.cluster").look(bootstrap, topic, messages, as_json=as_json))
    if prove:
        raise typer.Exit(part("prove.command").prove(prove, messages, lost_acks, paths or [], as_json=as_json))
    if budget:
        raise typer.Exit(part("budget.command").main(budget))
    form = Form.json if as_json else Form.sarif if sarif else Form.table
    raise typer.Exit(static(paths or [Path()], form, fail_on, client_version or [], ignore_file, live=live))


def static(  # noqa: PLR0913 - what was asked for
    paths: list[Path], form: Form, fail_on: Level, versions: list[str], ignore_file: Path, *, live: bool
) -> int:
    """Audit files, and what runs if that was asked for, and return the exit code."""
    from ops.check.audit import audit, look
    from ops.check.budget.audited import budgets
    from ops.check.clients.client import versions as named
    from ops.check.ignores import from_file
    from ops.check.output import failing, print_as
    from ops.check.walk import files

    looked = look(files(paths), from_file(ignore_file))
    running = part("live.command").look(os.environ, looked.blocks, looked.sql) if live else []
    found = audit(looked, named(versions), [*budgets(looked.files), *running])
    print_as(form.value, found)
    if any(each.id == "cannot-look" for each in running):
        return 2
    return 1 if failing(found.every(), fail_on.value) else 0


def part(name: str) -> Any:
    """A part of the check that is imported when it is asked for: it may need more than the base dependencies."""
    return import_module(f"ops.check.{name}")
