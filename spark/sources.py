"""What Kafka, the landed tables and the ledger say, in the columns that are compared; and what is late."""

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from spark.positions import Position

ORDERS = "order.events"
FULFILLMENTS = "fulfillment.events"
REJECTIONS = "rejection.events"
DEAD_LETTERS = "dead-letter.events"

LEDGER = "topic string, partition int, offset bigint, value_sha256 string, message_id string, expected string"
OF_MESSAGE = "concat('message ', message_id)"
OF_RECORD = "concat('record ', position)"
# Dead letters come from the record that is their key; every other event comes from a message.
SOURCE = f"""case topic when '{ORDERS}' then {OF_RECORD} when '{DEAD_LETTERS}' then concat('record ', key)
    else {OF_MESSAGE} end"""
CHUNK = 10_000  # offsets in one array, however long a partition is


def landed_records(landed: DataFrame, there: Mapping[Position, range]) -> DataFrame:
    """Landed rows below the end offsets; later ones belong to the next run."""
    ends = {"/".join(map(str, at)): offsets.stop for at, offsets in there.items()}
    below_end = F.col("offset") < value_of(ends, F.concat_ws("/", "topic", "partition"))
    in_value = F.get_json_object(F.col("value").cast("string"), "$.message_id")
    message_id = F.when(F.col("topic") == ORDERS, header("message_id")).otherwise(in_value)
    position = F.concat_ws("/", "topic", "partition", "offset")
    return (
        landed.where(below_end)
        .withColumns({"position": position, "key": F.col("key").cast("string"), "message_id": message_id})
        .withColumns({"sha256": F.sha2("value", 256), "event_id": F.coalesce(header("id"), position)})
        .withColumns({"row": F.monotonically_increasing_id(), "source": F.expr(SOURCE)})
        .drop("timestamp", "value", "headers")
    )


def acknowledged(ledger: DataFrame) -> DataFrame:
    """What the producer saw acknowledged, and what should become of it."""
    position = F.concat_ws("/", "topic", "partition", "offset").alias("position")
    return ledger.select(position, F.col("value_sha256").alias("sha256"), "message_id", "expected")


def offsets_between(spark: SparkSession, ranges: Mapping[Position, range]) -> DataFrame:
    """The position of every offset that must have landed."""
    bounds = [(topic, partition, at.start, at.stop) for (topic, partition), at in ranges.items() if at]
    schema = "topic string, partition int, start bigint, stop bigint"
    chunks = f"explode(sequence(start, stop - 1, {CHUNK}L)) as start"
    each = f"explode(sequence(start, least(start + {CHUNK}, stop) - 1)) as offset"
    frame = spark.createDataFrame(bounds, schema).selectExpr("topic", "partition", chunks, "stop")
    return frame.selectExpr("topic", "partition", each).selectExpr("concat_ws('/', *) as position")


def late_sources(landed: DataFrame, tracking: DataFrame, committed: Mapping[int, int]) -> DataFrame:
    """Records at or above the committed offsets, and messages that are known only from there."""
    settled = F.col("offset") < F.coalesce(value_of(committed, F.col("partition")), F.lit(0))
    either = F.explode(F.array(F.expr(OF_RECORD), F.expr(OF_MESSAGE))).alias("source")
    above = landed.where((F.col("topic") == ORDERS) & ~settled).select(either, F.lit(False).alias("settled"))
    tracked = tracking.select("source", settled.alias("settled"))
    known = above.unionByName(tracked).groupBy("source").agg(F.bool_or("settled").alias("settled"))
    return known.where("source is not null and not settled").select("source", F.lit(True).alias("late"))


def header(name: str) -> Column:
    """The one header of this name as text; two of them are nobody's meaning."""
    found = F.filter("headers", lambda pair: pair["key"] == name)
    return F.when(F.size(found) == 1, F.get(found, F.lit(0))["value"].cast("string"))


def value_of(known: Mapping[str, int] | Mapping[int, int], key: Column) -> Column:
    """The number known for a key, else null."""
    pairs = [F.lit(part) for pair in known.items() for part in pair]
    return F.create_map(*pairs)[key] if pairs else F.lit(None)
