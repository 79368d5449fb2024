"""One day: orders come in, are handled, landed and reconciled, and what is old goes.

Once a week the lake is compacted.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import SparkSession

from lab.faults.observe import TOPICS
from lab.year import ages
from lab.year.measures import as_mapping, measure_databases, measure_lake
from ops.demo import wait_until_handled
from ops.letters.acts import Act, choose, skip
from ops.letters.command import Filter
from ops.orders import make_records
from ops.produce import new_run, produce
from ops.progress import Note
from ops.stack.stack import Stack
from spark.compact import compact_lake
from spark.judging.settled import Options
from spark.retention import retain
from spark.settings import Settings

Measures = Mapping[str, Mapping[str, float]]  # by name and place
SECONDS = "seconds of a day's jobs"
COMPACT = "compact"
LANDED = "landed records"
# Once a day would cost a third of it: most of that looks for old files in tables that have none.
COMPACT_EVERY = 7  # days


class Day(NamedTuple):
    """What one day has shown."""

    number: int  # from 1 on
    began: float  # seconds since 1970
    ok: bool
    verdict: str
    deleted: Mapping[str, int]  # by what retention calls it
    measures: Measures

    @property
    def date(self) -> str:
        """Return when it was run."""
        return datetime.fromtimestamp(self.began, UTC).date().isoformat()


class Jobs(NamedTuple):
    """The stack with its Spark session, in which every day's jobs run."""

    stack: Stack
    spark: SparkSession


def live(jobs: Jobs, before: Sequence[Day], orders: int, seed: int, note: Note) -> Day:
    """Live one day more, and measure what is there in the evening."""
    number = len(before) + 1
    began = [*(day.began for day in before), time.time()]
    env = jobs.stack.env()

    note("orders")
    # A day that was begun and not ended is begun again: these are then redeliveries.
    records = make_records(seed + number, f"y{seed}-{number:03}", orders)
    ledger = produce(env, new_run(), records)
    ledger.unlink()
    wait_until_handled(jobs.stack, note)
    skip(env, choose(env, Filter(), []), Act("the lab", "nobody sends them again"))
    ages.delete_from_kafka(env["KAFKA_BOOTSTRAP_SERVERS"], TOPICS, began)

    settings = ages.scale(Settings(), began)
    seconds: dict[str, float] = {}
    note("land, reconcile, delete what is old")
    with timed(seconds, "land, reconcile, retention"):
        result = reconcile_and_delete(jobs.spark, settings)
    deleted = {one["what"]: one["deleted"] for one in result["ages"] if one["deleted"]}
    if is_compaction_due(before, deleted):
        note("compact")
        with timed(seconds, COMPACT):
            compact_lake(jobs.spark, settings)

    delta_root = Path(settings.delta_root)
    ages.age_delta_logs(delta_root)
    measures = as_mapping(chain(measure_databases(env), measure_lake(delta_root)))
    return Day(
        number=number,
        began=began[-1],
        ok=result["ok"],
        verdict=result["verdict"],
        deleted=deleted,
        measures={SECONDS: seconds, **measures},
    )


def is_compaction_due(before: Sequence[Day], deleted: Mapping[str, int]) -> bool:
    """Return whether the lake was not compacted for a week, and no landed row was deleted today.

    Delta keeps old files for whole hours, and a week is less than one here: compaction deletes all
    files but those of the latest versions. After a deletion the next run has to read the others.
    """
    last_days = before[1 - COMPACT_EVERY :]
    was_compacted = any(COMPACT in day.measures[SECONDS] for day in last_days)
    return not was_compacted and LANDED not in deleted


@contextmanager
def timed(seconds: dict[str, float], job: str) -> Iterator[None]:
    """Note how long a job takes."""
    started = time.monotonic()
    yield
    seconds[job] = round(time.monotonic() - started, 2)


def reconcile_and_delete(spark: SparkSession, settings: Settings) -> dict[str, Any]:
    """Do what `pipeline retention --apply` does."""
    deadline = time.monotonic() + settings.reconcile_deadline_seconds
    options = Options(land=True, ledger=None, deadline=deadline)
    result = retain(spark, settings, [], options, apply=True)
    spark.catalog.clearCache()
    return result
