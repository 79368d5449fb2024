"""Landed rows that retention has deleted: up to where, and what they added up to.

What is noted as deleted is not looked at any more, whether or not its rows are gone yet.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark.kafka.positions import Position
from spark.lake.landed_tables import is_within
from spark.lake.losses import Loss
from spark.rows.frames import Frames, query
from spark.run_id import began_at
from spark.session import make_frame
from spark.statements import read_statements

STATEMENTS = read_statements(Path(__file__).with_suffix(".sql"))
NOTE_SCHEMA = """
    run_id string,
    topic string,
    partition int,
    stop bigint,
    before bigint,
    kind string,
    id string,
    `rows` bigint,
    digest decimal(38, 0)
"""
SUMS_SCHEMA = "kind string, id string, `rows` bigint, digest decimal(38, 0)"
MESSAGE_SCHEMA = "message_id string, sha256 string, written_by bigint"
SUM_SCHEMA = "place string, contents string"
OF_MESSAGES = ("fulfillment", "rejection", "outbox", "audit_entry", "tracking")


class Retired(NamedTuple):
    """What retention has deleted of the landed tables."""

    stops: Mapping[Position, int]  # of each partition: the first offset that is not deleted
    before: int  # the messages of which nothing else is left were written by earlier transactions
    sums: DataFrame  # kind, id, rows, digest
    looked_at: datetime | None = None  # when all that had landed was looked through last

    def ranges(self) -> dict[Position, range]:
        """Return the offsets that are deleted."""
        return {position: range(stop) for position, stop in self.stops.items()}

    def is_left(self) -> str:
        """Return Spark SQL for whether a landed row is not deleted."""
        return f"not {is_within(self.ranges())}" if self.stops else "true"

    def clip(self, losses: Iterable[Loss]) -> list[Loss]:
        """Return what of these losses lies behind what is deleted."""
        clipped = []
        for loss in losses:
            first = max(loss.first, self.stops.get((loss.topic, loss.partition), 0))
            if first <= loss.last:
                clipped.append(loss._replace(first=first))
        return clipped

    def clip_extent(self, extent: Mapping[Position, range]) -> dict[Position, range]:
        """Return the offsets of each partition, from the first that is not deleted."""
        clipped = dict(extent)
        for position in self.stops.keys() & extent.keys():
            stop = extent[position].stop
            clipped[position] = range(min(self.stops[position], stop), stop)
        return clipped

    def describe(self) -> list[str]:
        """Return what reports say of it: these records are not compared any more."""
        said = []
        records = self.sums.where("kind = 'record'")
        by_place = records.groupBy("id").agg(F.sum("rows"))
        counts = dict(map(tuple, by_place.collect()))
        for (topic, partition), stop in sorted(self.stops.items()):
            place = f"{topic}/{partition}"
            said.append(f"{place}: {counts.get(place, 0):,} records, up to offset {stop - 1}")
        return said


def note_path(delta_root: str) -> str:
    """Return where the notes are."""
    return f"{delta_root}/reconcile/retired_landed"


def read_retired(spark: SparkSession, delta_root: str) -> Retired:
    """Return what retention has deleted so far."""
    path = note_path(delta_root)
    if not DeltaTable.isDeltaTable(spark, path):
        return Retired({}, 0, make_frame(spark, [], SUMS_SCHEMA))
    notes = spark.read.format("delta").load(path)
    stops = {}
    for topic, partition, stop in (
        notes.where("stop is not null").groupBy("topic", "partition").agg(F.max("stop")).collect()
    ):
        stops[topic, partition] = stop
    [(before, last_run)] = notes.selectExpr("coalesce(max(before), 0)", "max(run_id)").collect()
    sums = notes.where("kind is not null").select("kind", "id", "rows", "digest")
    return Retired(stops, before, sums, began_at(last_run))


def noted_contents(sums: DataFrame, kind: str, words: str) -> DataFrame:
    """Return what was noted of a kind in each place, as the frame that is compared with it says."""
    return query(STATEMENTS["noted_sums"], {"noted": sums}, kind=kind, words=f" {words}, digest ")


def set_apart(frames: Frames, retired: Retired) -> Frames:
    """Return the frames without what nobody can compare any more, and the messages it was.

    They are compared as a whole: the business's own rows know them for ever.
    """
    spark = frames["fulfillment"].sparkSession
    nothing = make_frame(spark, [], SUM_SCHEMA)
    if not retired.stops:
        return {"noted_message": nothing, "retired_message_sum": nothing}
    messages = find_messages(frames, retired.before)
    given = {"retired_message": messages}
    apart = {
        name: query(STATEMENTS["apart"], given | {"frame": frames[name]}) for name in OF_MESSAGES
    }
    ids = {"tracking": frames["tracking"], **given}
    return {
        **apart,
        "ledger": drop_positions(frames["ledger"], retired),
        "dead_letter": forget_positions(frames["dead_letter"], retired),
        "known_tracking": query(STATEMENTS["known_tracking"], ids),
        "known_fulfillment": frames["fulfillment"],
        "noted_message": noted_contents(retired.sums, "message", "messages"),
        "retired_message_sum": query(STATEMENTS["retired_message_sum"], given),
    }


def find_messages(frames: Frames, before: int) -> DataFrame:
    """Return the messages that the business's own rows know, and nothing else any more."""
    columns = ["message_id", "sha256", "written_by"]
    business = frames["fulfillment"].select(*columns).union(frames["rejection"].select(*columns))
    given = {"business": business, "tracking": frames["tracking"]}
    found = query(STATEMENTS["retired_message"], given, before=before)
    return found.localCheckpoint(eager=False)


def drop_positions(frame: DataFrame, retired: Retired) -> DataFrame:
    """Return the rows whose positions are behind what is deleted."""
    return split_position(frame).where(retired.is_left()).select(*frame.columns)


def forget_positions(frame: DataFrame, retired: Retired) -> DataFrame:
    """Return the rows without a position where it is deleted: they take no part in its hop."""
    columns = [name for name in frame.columns if name != "position"]
    left = f"if({retired.is_left()}, position, null) as position"
    kept = split_position(frame.withColumnRenamed("topic", "own_topic"))
    return kept.selectExpr(
        *("own_topic as topic" if name == "topic" else name for name in columns), left
    )


def split_position(frame: DataFrame) -> DataFrame:
    """Return the rows with topic, partition and offset of their positions."""
    return frame.withColumns(
        {
            "topic": F.split_part("position", F.lit("/"), F.lit(1)),
            "partition": F.split_part("position", F.lit("/"), F.lit(2)).cast("int"),
            "offset": F.split_part("position", F.lit("/"), F.lit(3)).cast("bigint"),
        }
    )
