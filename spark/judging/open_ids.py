"""What a run leaves open: ids that are late or a defect, with the landed rows behind them.

The next run judges them again, without a look at all that landed before.
"""

from typing import NamedTuple

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from spark.lake.landed_tables import SCHEMA as LANDED_SCHEMA
from spark.session import make_frame

ID_COLUMNS = ("hop", "id", "outcome", "sources")
ID_SCHEMA = "hop string, id string, outcome string, sources array<string>"


class Open(NamedTuple):
    """What a run has left open."""

    ids: DataFrame
    landed: DataFrame  # the rows of their records and messages, as they landed

    def sources(self) -> DataFrame:
        """Return the records and messages that are open."""
        return sources_of(self.ids)


def sources_of(ids: DataFrame) -> DataFrame:
    """Return the records and messages behind ids; an entry that is not audited is its message's."""
    sources = ids.selectExpr("explode(sources) as source")
    named = sources.selectExpr("regexp_replace(source, '^unaudited ', 'message ') as source")
    return named.distinct()


def read_open(spark: SparkSession, delta_root: str, run_id: str) -> Open:
    """Return what a run has left open."""
    ids = read_rows(spark, ids_path(delta_root), ID_SCHEMA, run_id)
    landed = read_rows(spark, landed_path(delta_root), LANDED_SCHEMA, run_id)
    return Open(ids, landed)


def read_rows(spark: SparkSession, path: str, schema: str, run_id: str) -> DataFrame:
    """Return the rows of one run; none, if no run has written any yet."""
    if not DeltaTable.isDeltaTable(spark, path):
        return make_frame(spark, [], schema)
    table = spark.read.format("delta").load(path)
    return table.where(table.run_id == run_id).drop("run_id")


def write_open(delta_root: str, run_id: str, open_: Open) -> None:
    """Append what a run leaves open; it counts once the horizon of the run is written."""
    for rows, path in (
        (open_.ids, ids_path(delta_root)),
        (open_.landed, landed_path(delta_root)),
    ):
        of_run = rows.selectExpr(f"'{run_id}' as run_id", "*")
        of_run.write.format("delta").mode("append").save(path)


def ids_path(delta_root: str) -> str:
    """Return where the ids are."""
    return f"{delta_root}/reconcile/open"


def landed_path(delta_root: str) -> str:
    """Return where the landed rows are."""
    return f"{delta_root}/reconcile/open_landed"
