"""What Kafka, the landed tables and the ledger say, in the columns that are compared; and what is late."""

import json
from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from spark.positions import Position
from spark.settings import INPUTS

LEDGER = "topic string, partition int, offset bigint, value_sha256 string, message_id string, expected string"
# What the producer saw acknowledged, and what should become of it.
ACKNOWLEDGED = """select concat_ws('/', topic, partition, offset) as position, value_sha256 as sha256, message_id,
    expected, string(null) as source from {ledger}"""
# Two headers of one name are nobody's meaning. A dead letter comes from the record that is its key, every
# other event from a message. Later records than these ends belong to the next run.
LANDED = """select topic, partition, offset, concat_ws('/', topic, partition, offset) as position, string(key) as key,
    sha2(value, 256) as sha256, monotonically_increasing_id() as row,
    coalesce(if(size(ids) = 1, string(get(ids, 0).value), null), position) as event_id,
    case when not is_input then get_json_object(string(value), '$.message_id')
        when size(message_ids) = 1 then string(get(message_ids, 0).value) end as message_id,
    if(is_input, concat('record ', position),
        coalesce(concat('message ', message_id), concat('record ', key))) as source,
    if(is_input and topic <> 'order.events', string(value), null) as value, is_input
    from (select *, find_in_set(topic, {inputs}) > 0 as is_input, filter(headers, header -> header.key = 'id') as ids,
        filter(headers, header -> header.key = 'message_id') as message_ids from {landed})
    where offset < from_json({ends}, 'map<string, bigint>')[concat_ws('/', topic, partition)]"""
# The inner sequence bounds each array, however long a partition is.
OFFSETS = """select concat_ws('/', topic, partition, offset) as position, string(null) as source from {ranges}
    lateral view explode(sequence(start, stop - 1, 10000)) as chunk
    lateral view explode(sequence(chunk, least(chunk + 10000, stop) - 1)) as offset"""
# Records at or above the committed offsets, and messages that are known only from there.
LATE = """with known as (
        select explode(array(concat('record ', position), concat('message ', message_id))) as source, partition, offset,
            false as tracked from {landed} where topic = 'order.events'
        union all select source, partition, offset, true as tracked from {tracking}),
    placed as (
        select *, offset >= coalesce(from_json({committed}, 'map<string, bigint>')[string(partition)], 0) as above
        from known)
    select source, true as late from placed where source is not null and (tracked or above)
    group by source having bool_and(above)"""


def query(text: str, of: Mapping[str, DataFrame], **given: Any) -> DataFrame:
    """Spark SQL over frames; a view of a held frame as it is would take it out of memory when it is dropped."""
    views: dict[str, Any] = {name: frame.where("true") for name, frame in of.items()}
    return next(iter(of.values())).sparkSession.sql(text, **views, **given)


def landed_records(landed: DataFrame, there: Mapping[Position, range]) -> DataFrame:
    """Landed rows below the end offsets; later ones belong to the next run."""
    ends = {f"{topic}/{partition}": offsets.stop for (topic, partition), offsets in there.items()}
    return query(LANDED, {"landed": landed}, ends=json.dumps(ends), inputs=",".join(INPUTS))


def offsets_between(spark: SparkSession, ranges: Mapping[Position, range]) -> DataFrame:
    """The position of every offset that must have landed."""
    rows = [
        (topic, partition, at.start, at.stop) for (topic, partition), at in ranges.items() if at
    ]
    schema = "topic string, partition int, start bigint, stop bigint"
    return query(OFFSETS, {"ranges": spark.createDataFrame(rows, schema)})
