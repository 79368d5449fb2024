"""A table for each event type: typed columns, and exactly one row for each event id.

They are made of the landed bytes, and can be made of them again.
"""

from collections.abc import Callable
from pathlib import Path

from delta.tables import DeltaTable
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from contract.events import Event
from spark.lake.landed_tables import table_path as landed_path
from spark.rows.frames import query
from spark.rows.retired_landed import read_retired
from spark.session import exit_with_error, locate, log_progress, make_frame
from spark.statements import read_statements

STATEMENTS = read_statements(Path(__file__).with_suffix(".sql"))
# A file of data, or of the log, that is not there any more.
GONE = ("FAILED_READ_FILE.FILE_NOT_EXIST", "DELTA_MISSING_FILES_UNEXPECTED_VERSION")
SEARCHED = "event_id, occurred_at"  # the columns whose least and greatest values each file knows

Add = Callable[[DataFrame, str], None]  # events, the table's path


def table_path(delta_root: str, event: Event) -> str:
    """Return where the table of an event type is."""
    return f"{delta_root}/events/{event.event_type}"


def checkpoint_path(delta_root: str, event: Event) -> str:
    """Return where the table's query remembers how far it has read."""
    return f"{delta_root}/events/_checkpoints/{event.event_type}"


def columns_of(event: Event) -> str:
    """Return the columns of a table."""
    return f"""
        event_id string,
        occurred_at timestamp,
        {event.columns},
        unreadable string,
        topic string,
        partition int,
        offset bigint
    """


def events_in(landed: DataFrame, event: Event) -> DataFrame:
    """Return the events of one type among landed records, each once."""
    values = {
        "event_type": event.event_type,
        "body_type": f"{event.columns}, unreadable string",
    }
    events = query(STATEMENTS["event"], {"landed": landed}, **values)
    return query(STATEMENTS["first_event"], {"event": events})


def add_new(events: DataFrame, path: str) -> None:
    """Add the events that a table does not have yet: doing it again adds nothing."""
    table = DeltaTable.forPath(events.sparkSession, path)
    is_known = "known.event_id = new.event_id"
    merge = table.alias("known").merge(events.alias("new"), is_known)
    merge.whenNotMatchedInsertAll().execute()


def update_table(
    spark: SparkSession, delta_root: str, event: Event, *, add: Add = add_new
) -> DataFrame:
    """Add what has landed since the last time; return the table.

    If that was too long ago, compaction has replaced the files that landed next, and they or their
    log are deleted: the table is made again.
    """
    path = table_path(delta_root, event)
    make_table(spark, path, event)
    refuse_other_columns(spark, path, event)
    try:
        read_on(spark, delta_root, event, add, {})
    except StreamingQueryException as error:
        if not any(condition in str(error) for condition in GONE):
            raise
        log_progress(f"{event.event_type}: files to go on with are gone; the table is made again")
        return rebuild_table(spark, delta_root, event)
    return spark.read.format("delta").load(path)


def rebuild_table(spark: SparkSession, delta_root: str, event: Event) -> DataFrame:
    """Make a table of everything that has landed; until then, readers see the old one.

    What lands meanwhile is read afterwards. Rows of what retention has deleted stay as they are.
    """
    path = table_path(delta_root, event)
    source = landed_path(delta_root, event.topic)
    version = latest_version(spark, source)
    landed = spark.read.format("delta").option("versionAsOf", version).load(source)
    delete(spark, checkpoint_path(delta_root, event))
    make_table(spark, path, event)
    retired = read_retired(spark, delta_root)
    kept = spark.read.format("delta").load(path).where(f"not ({retired.is_left()})")
    columns = make_frame(spark, [], columns_of(event)).columns
    made = events_in(landed.where(retired.is_left()), event)
    made = made.join(kept.select("event_id"), "event_id", "left_anti")
    events = made.unionByName(kept, allowMissingColumns=True).select(*columns)
    writer = events.write.format("delta").mode("overwrite")
    writer.option("overwriteSchema", True).save(path)
    read_on(spark, delta_root, event, add_new, {"startingVersion": str(version)})
    return spark.read.format("delta").load(path)


def read_on(
    spark: SparkSession, delta_root: str, event: Event, add: Add, start: dict[str, str]
) -> None:
    """Add the events of each landed record that was not read yet.

    Rows that were rewritten, by a repair or to make files larger, bring no new events.
    """
    path = table_path(delta_root, event)
    options = {"skipChangeCommits": "true", **start}
    source = landed_path(delta_root, event.topic)
    landed = spark.readStream.format("delta").options(**options).load(source)

    def add_events(batch: DataFrame, _batch_id: int) -> None:
        add(events_in(batch, event), path)

    writer = landed.writeStream.foreachBatch(add_events).trigger(availableNow=True)
    query = writer.start(checkpointLocation=checkpoint_path(delta_root, event))
    query.awaitTermination()


def make_table(spark: SparkSession, path: str, event: Event) -> None:
    """Make a table that is missing, so that it can be read when there is no event yet."""
    if DeltaTable.isDeltaTable(spark, path):
        return
    table = DeltaTable.create(spark).location(path)
    columns = make_frame(spark, [], columns_of(event)).schema
    table.addColumns(columns).property("delta.dataSkippingStatsColumns", SEARCHED).execute()


def refuse_other_columns(spark: SparkSession, path: str, event: Event) -> None:
    """End the job if the contract has changed since a table was made."""
    found = spark.read.format("delta").load(path).dtypes
    wanted = make_frame(spark, [], columns_of(event)).dtypes
    if found != wanted:
        changed = sorted(name for name, _type in set(found) ^ set(wanted))
        exit_with_error(
            f"{path} has other columns than contract/events.py says: {', '.join(changed)};"
            " make the table again (python -m spark.tables --rebuild)"
        )


def latest_version(spark: SparkSession, path: str) -> int:
    """Return the version that a Delta table has now."""
    [latest] = DeltaTable.forPath(spark, path).history(1).select("version").collect()
    version: int = latest.version
    return version


def delete(spark: SparkSession, folder: str) -> None:
    """Delete a folder of a lake."""
    files, path = locate(spark, folder)
    files.delete(path, True)
