"""The command: `pipeline-check` by itself, `pipeline check` beside the pipeline."""

# ruff: noqa: PLC0415 - what is not asked for is not imported: the audit starts in a fraction of a second

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline_check.clients.client import UnknownVersionError
from pipeline_check.ignores import FILE, BaselineError
from pipeline_check.walk import NothingThereError, files

if TYPE_CHECKING:
    from pipeline_check.audit import Audit

Form = StrEnum("Form", ["table", "json", "sarif", "prometheus", "github"])
Level = StrEnum("Level", ["error", "warning", "note", "never"])
Paths = Annotated[
    list[Path] | None,
    typer.Argument(help="Files, or folders to walk; the current folder if none is named."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]
Sarif = Annotated[bool, typer.Option("--sarif", help="Print SARIF, for code scanning.")]
Metrics = Annotated[
    bool, typer.Option("--prometheus", help="Print metrics, for a file that Prometheus collects.")
]
Annotations = Annotated[
    bool, typer.Option("--github", help="Print annotations, for a step of a workflow on GitHub.")
]
Everything = Annotated[
    bool, typer.Option("--all", help="Print every finding, also where they fill many screens.")
]
Fixing = Annotated[
    bool,
    typer.Option("--fix", help="Write the fixes into .properties, .env and JSON; show the rest."),
]
Baseline = Annotated[
    Path | None, typer.Option(help="Leave out what this file has from before; tell stale lines.")
]
NewBaseline = Annotated[
    Path | None, typer.Option(help="Write what is found now into this file, for --baseline.")
]
FailOn = Annotated[Level, typer.Option(help="The lowest severity that makes the exit code 1.")]
Versions = Annotated[
    list[str] | None,
    typer.Option(
        "--client-version",
        metavar="CLIENT=VERSION",
        help="Judge this version of a client, such as java=3.1.0; once for each client.",
    ),
]
IgnoreFile = Annotated[
    Path,
    typer.Option(help="The findings to ignore, one a line: rule, pattern of files, reason."),
]
Live = Annotated[
    bool,
    typer.Option(
        "--live",
        help="Also ask the running Postgres, Connect and Kafka: *DATABASE_URL, CONNECT_URL and"
        " KAFKA_BOOTSTRAP_SERVERS name them.",
    ),
]
Duplicates = Annotated[
    bool,
    typer.Option(
        "--duplicates",
        help="Read a topic and tell how many of its records repeat an earlier one; nothing else.",
    ),
]
Bootstrap = Annotated[
    str, typer.Option(envvar="KAFKA_BOOTSTRAP_SERVERS", help="The brokers, for --duplicates.")
]
Topic = Annotated[str, typer.Option(help="The topic, for --duplicates.")]
Id = Annotated[
    str,
    typer.Option(
        "--id", metavar="header:NAME|json:$.PATH|key|key+value", help="What records are known by."
    ),
]
Since = Annotated[str, typer.Option(metavar="24h", help="Only what is younger than this.")]
ClientConfig = Annotated[
    Path | None, typer.Option(help="Settings of the reader, such as security, for --duplicates.")
]
Budget = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FILE|NAME=VALUE",
        help="Print the timeouts and retentions of this pyproject.toml as sums, and nothing else;"
        " NAME=VALUE tries another number.",
    ),
]

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def check(  # noqa: PLR0913, PLR0917 - one for each option
    paths: Paths = None,
    as_json: Json = False,
    sarif: Sarif = False,
    prometheus: Metrics = False,
    github: Annotations = False,
    everything: Everything = False,
    fix: Fixing = False,
    baseline: Baseline = None,
    write_baseline: NewBaseline = None,
    fail_on: FailOn = Level.warning,
    client_version: Versions = None,
    ignore_file: IgnoreFile = Path(FILE),
    live: Live = False,
    budget: Budget = None,
    duplicates: Duplicates = False,
    bootstrap: Bootstrap = "",
    topic: Topic = "",
    id_text: Id = "key+value",
    since: Since = "",
    client_config: ClientConfig = None,
) -> None:
    """Say which Kafka producers are really idempotent, and which settings lose or double records.

    Reads .properties, JSON, YAML, .env and Python files, and runs none of them. To ignore a
    finding, write "check: ignore[RULE] REASON" in a comment on its line or the line above, or
    add a line to the ignore file.

    `explain RULE` instead of paths says what a rule is about.

    Exit codes: 0 fine, 1 found something, 2 could not look.
    """
    asked = [str(path) for path in paths or []]
    if asked[:1] == ["explain"] and not Path("explain").exists():
        raise typer.Exit(explain(asked[1:]))
    if budget:
        from pipeline_check.budget.judge import print_budget

        raise typer.Exit(print_budget(budget))
    if duplicates:
        from pipeline_check.duplicates.command import tell_duplicates

        code = tell_duplicates(
            bootstrap,
            topic,
            id_text=id_text,
            since=since,
            config=client_config,
            form="json" if as_json else "table",
        )
        raise typer.Exit(code)
    form = Form.table
    if sarif:
        form = Form.sarif
    if prometheus:
        form = Form.prometheus
    if github:
        form = Form.github
    if as_json:
        form = Form.json
    try:
        code = run(
            paths or [Path()],
            form,
            fail_on,
            client_version or [],
            ignore_file,
            live=live,
            everything=everything,
            fix=fix,
            baseline=baseline,
            new_baseline=write_baseline,
        )
    except (NothingThereError, UnknownVersionError, BaselineError) as failure:
        print(f"pipeline check: {failure}", file=sys.stderr)
        code = 2
    raise typer.Exit(code)


def run(  # noqa: PLR0913 - what was asked for
    paths: list[Path],
    form: Form,
    fail_on: Level,
    versions: list[str],
    ignore_file: Path,
    *,
    live: bool,
    everything: bool,
    fix: bool,
    baseline: Path | None,
    new_baseline: Path | None,
) -> int:
    """Audit files, and what runs if that was asked for; print it and return the exit code."""
    from pipeline_check.audit import audit, read_sources
    from pipeline_check.baseline import without_known, write_baseline
    from pipeline_check.budget.judge import find_in_budgets
    from pipeline_check.clients.client import parse_versions
    from pipeline_check.ignores import read_ignore_file
    from pipeline_check.output import failing, print_as
    from pipeline_check.reading.builds import version_near
    from pipeline_check.rules.finding import Finding

    named_versions = parse_versions(versions)
    sources = read_sources(files(paths), read_ignore_file(ignore_file))
    if fix and write_fixes(audit(sources, named_versions, (), version_near)):
        sources = read_sources(files(paths), read_ignore_file(ignore_file))
    running: list[Finding] = []
    if live:
        from pipeline_check.live.look import look

        running = look(os.environ, sources.blocks, sources.sql)
    more = [*find_in_budgets(sources.files), *running]
    found = audit(sources, named_versions, more, version_near)
    if new_baseline:
        write_baseline(new_baseline, found.every())
        print(f"{new_baseline}: {len(found.every())} findings", file=sys.stderr)
        return 0
    if baseline:
        found = without_known(found, baseline)
    print_as(form.value, found, everything=everything)
    if any(each.id == "cannot-look" for each in running):
        return 2
    return 1 if failing(found.every(), fail_on.value) else 0


def write_fixes(found: "Audit") -> bool:
    """Write what can be written safely, and tell it on standard error; say if anything was."""
    from pipeline_check.apply import apply_fixes

    changed = apply_fixes(found.every())
    for file, edits in changed.items():
        for edit in edits:
            print(f"{file}: {edit.key}={edit.value}", file=sys.stderr)
    return bool(changed)


def explain(names: list[str]) -> int:
    """Print what a rule is about, or which rules there are; return the exit code."""
    from pipeline_check.rules.explain import explanation, rule_names

    if not names:
        print("\n".join(rule_names()))
        return 0
    for name in names:
        said = explanation(name)
        if not said:
            print(f"pipeline check: there is no rule {name}: explain lists them", file=sys.stderr)
            return 2
        print(said)
    return 0


def main() -> None:
    """Run the command by itself, where the pipeline is not installed."""
    app()
