"""What each place holds, in the columns that are compared; `source` is the message or record behind a row."""

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from spark.landing import Position

ORDERS = "order.events"
FULFILLMENTS = "fulfillment.events"
REJECTIONS = "rejection.events"
DEAD_LETTERS = "dead-letter.events"

LINES = "array<struct<sku: string, quantity: string, unit_price: string>>"
# The fields of all events that are compared with rows; the others are covered by the bytes.
PAYLOAD = f"""message_id string, order_id string, fulfillment_id string, customer_id string, total string,
    lines {LINES}, fulfilled_by string, audit_entry_id string, idempotency_key string, outcome string,
    body_sha256 string, value_sha256 string"""
LEDGER = "topic string, partition int, offset bigint, value_sha256 string, message_id string, expected string"

OF_MESSAGE = "concat('message ', message_id)"
OF_RECORD = "concat('record ', record)"
SOURCE = f"if(topic in ('{ORDERS}', '{DEAD_LETTERS}'), {OF_RECORD}, {OF_MESSAGE})"
DECISION = f"case topic when '{FULFILLMENTS}' then 'fulfilled' when '{REJECTIONS}' then 'rejected' end"
CHUNK = 10_000  # offsets in one array, however long a partition is


def landed_records(landed: DataFrame, there: Mapping[Position, range]) -> DataFrame:
    """Landed rows below the end offsets; later ones belong to the next run."""
    ends = {"/".join(map(str, at)): offsets.stop for at, offsets in there.items()}
    below_end = F.col("offset") < value_of(ends, F.concat_ws("/", "topic", "partition"))
    in_value = F.get_json_object(F.col("value").cast("string"), "$.message_id")
    position = F.concat_ws("/", "topic", "partition", "offset")
    is_order = F.col("topic") == ORDERS
    return (
        landed.where(below_end)
        .select("topic", "partition", "offset", "value", "headers", F.col("key").cast("string"))
        .withColumns({"position": position, "row": F.monotonically_increasing_id()})
        .withColumn("message_id", F.when(is_order, header("message_id")).otherwise(in_value))
        .withColumn("event_id", F.coalesce(header("id"), "position"))
        .withColumns({"record": F.when(is_order, position).otherwise(F.col("key")), "sha256": F.sha2("value", 256)})
        .withColumn("source", F.expr(SOURCE))
        .drop("value", "headers")
    )


def tracked(tracking: DataFrame, subscriber: str, committed: Mapping[int, int]) -> DataFrame:
    """Tracking rows of this subscriber, and whether they are settled."""
    own = tracking.where(F.col("subscriber") == subscriber)
    return own.select("*", is_settled(committed).alias("settled"), F.expr(OF_MESSAGE).alias("source"))


def fulfilled(fulfillment: DataFrame) -> DataFrame:
    """Fulfillment rows in the form of their events."""
    return fulfillment.withColumns({"lines": F.from_json("lines", LINES), "source": F.expr(OF_MESSAGE)})


def buried(dead_letter: DataFrame) -> DataFrame:
    """Dead letters by the position of their record."""
    return dead_letter.selectExpr("position", "concat('record ', position) as source")


def published(outbox: DataFrame) -> DataFrame:
    """Outbox rows: the hash of the payload's bytes, and its fields."""
    return (
        outbox.withColumns({"sha256": F.sha2("payload", 256), "event": F.from_json("payload", PAYLOAD)})
        .select("event_id", "topic", "key", "sha256", "event.*", F.col("key").alias("record"))
        .withColumns({"source": F.expr(SOURCE), "outcome": F.coalesce(F.expr(DECISION), "outcome")})
    )


def audited(audit_entry: DataFrame) -> DataFrame:
    """Audit entries by the message that they tell of."""
    return audit_entry.withColumn("source", F.expr(OF_MESSAGE))


def acknowledged(ledger: DataFrame) -> DataFrame:
    """What the producer saw acknowledged, and what should become of it."""
    position = F.concat_ws("/", "topic", "partition", "offset").alias("position")
    return ledger.select(position, F.col("value_sha256").alias("sha256"), "message_id", "expected")


def offsets_between(spark: SparkSession, ranges: Mapping[Position, range]) -> DataFrame:
    """The position of every offset that must have landed."""
    bounds = [(topic, partition, at.start, at.stop) for (topic, partition), at in ranges.items() if at]
    chunks = f"explode(sequence(start, stop - 1, {CHUNK}L)) as start"
    each = f"explode(sequence(start, least(start + {CHUNK}, stop) - 1)) as offset"
    return (
        spark.createDataFrame(bounds, "topic string, partition int, start bigint, stop bigint")
        .selectExpr("topic", "partition", chunks, "stop")
        .selectExpr("topic", "partition", each)
        .select(F.concat_ws("/", "topic", "partition", "offset").alias("position"))
    )


def late_sources(landed: DataFrame, tracking: DataFrame, committed: Mapping[int, int]) -> DataFrame:
    """Records at or above the committed offsets, and messages that are known only from there."""
    either = F.explode(F.array(F.expr(OF_RECORD), F.expr(OF_MESSAGE))).alias("source")
    above = landed.where((F.col("topic") == ORDERS) & ~is_settled(committed))
    seen = above.select(either, F.lit(False).alias("settled"))
    known = seen.unionByName(tracking.select("source", "settled")).groupBy("source")
    unsettled = known.agg(F.bool_or("settled").alias("settled")).where("source is not null and not settled")
    return unsettled.select("source", F.lit(True).alias("late"))


def is_settled(committed: Mapping[int, int]) -> Column:
    """Below what the group has committed: the service is through with it."""
    return F.col("offset") < F.coalesce(value_of(committed, F.col("partition")), F.lit(0))


def header(name: str) -> Column:
    """The one header of this name as text; two of them are nobody's meaning."""
    found = F.filter("headers", lambda pair: pair["key"] == name)
    return F.when(F.size(found) == 1, F.get(found, F.lit(0))["value"].cast("string"))


def value_of(known: Mapping[str, int] | Mapping[int, int], key: Column) -> Column:
    """The number known for a key, else null."""
    pairs = [F.lit(part) for pair in known.items() for part in pair]
    return F.create_map(*pairs)[key] if pairs else F.lit(None)
