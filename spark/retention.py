"""The job that deletes old events from the outboxes, once they have landed and are matched."""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import psycopg
from psycopg.conninfo import make_conninfo
from pyspark.sql import SparkSession

from contract.events import EVENTS
from contract.names import AUDIT_DATABASE, DATABASE
from spark.horizon import NotCheckedError, first_transaction
from spark.parts import Part, load_parts
from spark.reconcile import FAILURES, Result, run
from spark.seal import Run, late_since
from spark.session import STARTED_AT, describe, exit_with_error, log_progress, make_session
from spark.settings import Settings
from spark.settled import Options

ROLE = "purger"
CONNECT_SECONDS = 5
BATCH = 1_000  # events in a transaction: no writer waits for longer
SECONDS_OF_A_DAY = 86_400
LINE = "{:<12} {:>12}  {:<19} {:>12}"

# Those of the core. What an extra publishes is its own to delete.
TYPES = {
    DATABASE: [*(event.event_type for event in EVENTS), "record-dead-lettered"],
    AUDIT_DATABASE: ["audit-entry-recorded"],
}

# An event that is too young, and whatever was written by its transaction or a later one, stays.
LOOK = """
    with boundary as (
        select coalesce(least(%(first)s::bigint, min(coalesce(written_by, 0))), %(first)s::bigint)
            as before
        from outbox
        where event_type = any(%(types)s)
            and occurred_at >= now() - make_interval(secs => %(age)s)
    )
    select before, count(event_id), to_char(min(occurred_at), 'YYYY-MM-DD HH24:MI:SS')
    from boundary
    left join outbox
        on coalesce(outbox.written_by, 0) < boundary.before
        and outbox.event_type = any(%(types)s)
    group by before
"""
RETIRE = "select events, last from retire(%(types)s, %(before)s, %(most)s, %(behind)s::tid)"
BEGINNING = "(0,0)"  # of a table


class Old(NamedTuple):
    """What of an outbox is old enough to go."""

    database: str
    before: int  # by which transactions it was written: by earlier ones
    events: int
    oldest: str | None


def find_old(settings: Settings, first_open: Mapping[str, int]) -> list[Old]:
    """Return what of each outbox can go: it is old, and no open id is as old."""
    age = settings.retention_outbox_days * SECONDS_OF_A_DAY
    found = []
    for database, first in first_open.items():
        parameters = {"first": first, "types": TYPES[database], "age": age}
        with connect(settings, database) as session:
            [row] = session.execute(LOOK, parameters)
        found.append(Old(database, *row))
    return found


def retire(settings: Settings, old: Old) -> int:
    """Delete these events a thousand at a time, each batch with a note of it; return how many."""
    parameters = {"types": TYPES[old.database], "before": old.before, "most": BATCH}
    retired = 0
    behind = BEGINNING
    with connect(settings, old.database) as session:
        while behind:
            [(count, behind)] = session.execute(RETIRE, parameters | {"behind": behind})
            retired += count
            if count:
                log_progress(f"{old.database}: {retired:,} of {old.events:,} events are deleted")
    return retired


@contextmanager
def connect(settings: Settings, database: str) -> Iterator[psycopg.Connection]:
    """Log in as the role that deletes what is old."""
    url = settings.databases()[database]
    password = settings.purger_password_file.read_text().strip()
    address = make_conninfo(url, user=ROLE, password=password)
    with psycopg.connect(address, autocommit=True, connect_timeout=CONNECT_SECONDS) as session:
        yield session


def find_first_open(run: Run) -> dict[str, int]:
    """Return the first transaction of each database that the run could not see the end of.

    All that was written before it is published and has landed, unless the run has found a defect.
    """
    late = late_since(run.settled.databases.frames, run.judged.outcomes)
    first_open = {}
    for database, snapshot in run.settled.databases.snapshots.items():
        first = first_transaction(snapshot.moment)
        first_open[database] = min(first, late.get(database, first))
    return first_open


def keep_outboxes_small(
    spark: SparkSession,
    settings: Settings,
    parts: Sequence[Part],
    options: Options,
    *,
    apply: bool,
) -> Result:
    """Reconcile; if nothing is wrong, delete what is old. Return what was found and done."""
    first_open: dict[str, int] = {}

    def use(found: Run) -> None:
        first_open.update(find_first_open(found))

    judged = run(spark, settings, parts, options._replace(use=use))
    is_safe = judged["ok"] and first_open
    outboxes = []
    for old in find_old(settings, first_open) if is_safe else []:
        retired = retire(settings, old) if apply else 0
        outboxes.append({**old._asdict(), "retired": retired})
    return {
        "ok": judged["ok"],
        "verdict": judged["verdict"],
        "older_than_days": settings.retention_outbox_days,
        "applied": apply,
        "outboxes": outboxes,
    }


def render_text(result: Result) -> str:
    """Return what a terminal shows: what goes of each outbox, or why nothing does."""
    if not result["ok"]:
        return f"{result['verdict']}\nnothing is deleted: repair this first (pipeline repair)"
    lines = [LINE.format("outbox of", "events", "the first of", "deleted")]
    for outbox in result["outboxes"]:
        events = f"{outbox['events']:,}"
        retired = f"{outbox['retired']:,}"
        lines.append(LINE.format(outbox["database"], events, outbox["oldest"] or "", retired))
    lines.append(f"older than {result['older_than_days']:g} days; {result['verdict']}")
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
    """Reconcile, then say what of the outboxes is older than RETENTION_OUTBOX_DAYS.

    With --apply, it is deleted in small transactions, beside everything that runs. Nothing goes
    while something is lost, doubled or different, and nothing that is not published, landed and
    matched. What is deleted is noted: later reconciliations compare the note with what has landed.

    Exit with 0 if that was done, 1 if the verdict forbids it, 2 if it could not be found out.
    """
    settings = Settings()
    arguments = read_arguments(settings)
    if not Path(settings.purger_password_file).exists():
        exit_with_error(f"PURGER_PASSWORD_FILE: there is no {settings.purger_password_file}")
    deadline = STARTED_AT + arguments.deadline
    options = Options(land=True, ledger=None, deadline=deadline)
    try:
        spark = make_session("retention", settings.spark_jars_dir)
        result = keep_outboxes_small(spark, settings, load_parts(), options, apply=arguments.apply)
    except NotCheckedError as refusal:
        exit_with_error(str(refusal))
    except FAILURES as error:
        exit_with_error(f"retention has stopped: {describe(error)}; run it again")
    print(json.dumps(result) if arguments.json else render_text(result))  # noqa: T201 - the result
    sys.exit(0 if result["ok"] else 1)


if __name__ == "__main__":
    main()
