"""The job that deletes what is old and settled: in the databases, in the lake, and of its results.

It reconciles first, and what it may delete follows from what that run has seen.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from spark.judging.horizon import NotCheckedError
from spark.judging.seal import Run
from spark.judging.settled import Options
from spark.kafka.positions import refuse_without_login
from spark.parts import Part, load_parts
from spark.reconcile import FAILURES, Result, append, open_session, run
from spark.retiring.old_landed import find_old_landed
from spark.retiring.old_runs import delete_old_runs, find_old_runs
from spark.retiring.purge import Limits, Old, Purge, find_limits, find_old_outboxes, find_old_rows
from spark.session import (
    STARTED_AT,
    describe,
    exit_with_error,
    log_progress,
    make_frame,
)
from spark.settings import TRACKING, Settings, refuse_young

NOTE_SCHEMA = "run_id string, deleted string"
COLUMNS = ("what", "older than", "would go", "the first of", "deleted")
LINE = "{:<26} {:>10} {:>12}  {:<19} {:>12}"


def retain(
    spark: SparkSession,
    settings: Settings,
    parts: Sequence[Part],
    options: Options,
    *,
    apply: bool,
) -> Result:
    """Reconcile; if nothing is wrong, delete what is old. Return what was found and done."""
    found: list[Limits] = []

    def use(judged: Run) -> None:
        found.append(find_limits(judged))

    judged = run(spark, settings, parts, options._replace(use=use))
    lines = []
    if judged["ok"]:
        for limits in found:
            old = find_old(spark, settings, parts, limits)
            lines = [purge(one, apply=apply) for one in old]
        if apply:
            note_retention(spark, settings, judged["run_id"], lines)
    return {
        "ok": judged["ok"],
        "verdict": judged["verdict"],
        "applied": apply,
        "ages": lines,
    }


def note_retention(
    spark: SparkSession, settings: Settings, run_id: str, lines: Sequence[Result]
) -> None:
    """Append what was deleted to what runs leave: the guard tells by it when that was."""
    rows = [(run_id, json.dumps(lines))]
    append(make_frame(spark, rows, NOTE_SCHEMA), f"{settings.delta_root}/reconcile/retention")


def find_old(
    spark: SparkSession, settings: Settings, parts: Sequence[Part], limits: Limits
) -> Iterator[Purge]:
    """Yield everything that grows, with what of it is old: what others refer to comes later."""
    if settings.dedup_store == TRACKING:
        yield from find_old_rows(spark, settings, limits)
        yield find_old_landed(spark, settings, parts, limits)
    else:
        why = f"all stay: DEDUP_STORE={settings.dedup_store} leaves no other proof"
        yield from find_old_outboxes(settings, limits)
        kept = ("audit entries", "dead letters", "landed records")
        yield from (keep(what, why) for what in kept)
    yield find_old_results(spark, settings)


def keep(what: str, why: str) -> Purge:
    """Return that all of something stays."""
    return Purge(Old(what, None, 0, None, why), lambda: 0)


def find_old_results(spark: SparkSession, settings: Settings) -> Purge:
    """Return what earlier reconciliations have left."""
    days = settings.reconcile_keep_days
    old = find_old_runs(spark, settings.delta_root, days)
    oldest = f"{min(old):%Y-%m-%d %H:%M:%S}" if old else None
    line = Old("outcomes and reports", days, len(old), oldest)
    return Purge(line, lambda: delete_old_runs(spark, settings.delta_root, days))


def purge(one: Purge, *, apply: bool) -> Result:
    """Delete what is old of one thing, if that is asked for; return what was found and done."""
    old = one.old
    deleted = one.delete() if apply else 0
    log_progress(f"{old.what}: {old.rows:,} are old enough, {deleted:,} are deleted")
    return {**old._asdict(), "deleted": deleted}


def render_text(result: Result) -> str:
    """Return what a terminal shows: a line for each thing that grows, or why nothing is deleted."""
    if not result["ok"]:
        return f"{result['verdict']}\nnothing is deleted: repair this first (pipeline repair)"
    lines = [LINE.format(*COLUMNS)]
    for old in result["ages"]:
        days = f"{old['days']:g} d" if old["days"] is not None else ""
        rows, deleted = f"{old['rows']:,}", f"{old['deleted']:,}"
        line = LINE.format(old["what"], days, rows, old["oldest"] or "", deleted)
        lines.append(f"{line}  {old['stays']}".rstrip())
    lines.append(result["verdict"])
    if not result["applied"]:
        lines.append("nothing is deleted: say --apply")
    return "\n".join(lines)


def read_arguments(settings: Settings) -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m spark.retention", description=main.__doc__)
    parser.add_argument("--apply", action="store_true", help="delete it; otherwise only say it")
    parser.add_argument(
        "--deadline",
        type=float,
        default=settings.reconcile_deadline_seconds,
        metavar="S",
        help="seconds to wait until all is settled",
    )
    parser.add_argument("--json", action="store_true", help="print JSON for a program to read")
    return parser.parse_args()


def main() -> None:
    """Reconcile, then say what is older than its age: RETENTION_*_DAYS and RECONCILE_KEEP_DAYS.

    With --apply, it is deleted in small transactions, beside everything that runs. Nothing goes
    while something is lost, doubled or different, and nothing that this run has not judged. What is
    deleted is noted: later reconciliations compare the note with what has landed.

    Exit with 0 if that was done, 1 if the verdict forbids it, 2 if it could not be found out.
    """
    settings = Settings()
    arguments = read_arguments(settings)
    refusal = refuse_young(settings)
    if refusal:
        exit_with_error(refusal)
    if not Path(settings.purger_password_file).exists():
        exit_with_error(f"PURGER_PASSWORD_FILE: there is no {settings.purger_password_file}")
    deadline = STARTED_AT + arguments.deadline
    options = Options(land=True, ledger=None, deadline=deadline)
    try:
        refuse_without_login(settings)
        spark = open_session("retention", settings)
        result = retain(spark, settings, load_parts(), options, apply=arguments.apply)
    except NotCheckedError as refused:
        exit_with_error(str(refused))
    except FAILURES as error:
        exit_with_error(f"retention has stopped: {describe(error)}; run it again")
    print(json.dumps(result) if arguments.json else render_text(result))  # noqa: T201 - the result
    sys.exit(0 if result["ok"] else 1)


if __name__ == "__main__":
    main()
