"""Spans of records that have landed, for those whose trace is sampled."""

import time
from collections.abc import Iterable, Iterator
from functools import partial
from hashlib import sha256

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from access.collector import WAITING, Collector, CollectorError, Span, find_collector
from contract.trace import PARENT_HEADER, read_trace
from spark.landing.landing_query import Append, append_batch
from spark.session import exit_with_error, log_progress

SAMPLED = "^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f][13579bdf]$"
POSITION = ("topic", "partition", "offset")


def find_append() -> Append:
    """Return how rows are appended: with spans of what has landed, if there is a collector."""
    try:
        collector = find_collector("land", tell_dropped)
    except CollectorError as error:
        exit_with_error(str(error))
    return partial(append_with_spans, collector) if collector else append_batch


def append_with_spans(
    collector: Collector, rows: DataFrame, path: str, query_id: str, batch_id: int
) -> None:
    """Append to a Delta table, then hand in the spans of the rows."""
    append_batch(rows, path, query_id, batch_id)
    ended = time.time_ns()
    sampled = choose_sampled(rows).limit(WAITING).collect()
    collector.take(make_spans(sampled, ended))


def choose_sampled(rows: DataFrame) -> DataFrame:
    """Return where and when each record of a sampled trace was written, and its trace."""
    parents = F.filter("headers", lambda header: header["key"] == PARENT_HEADER)
    parent = F.get(parents, F.lit(0))["value"].cast("string")
    written = F.unix_micros("timestamp")
    found = rows.select(*POSITION, written.alias("written"), parent.alias("parent"))
    return found.where(F.col("parent").rlike(SAMPLED))


def make_spans(rows: Iterable[Row], ended: int) -> Iterator[Span]:
    """Yield the span of each record: from when it was written to its topic until it had landed."""
    for row in rows:
        trace = read_trace([row.parent])
        if trace is None:
            continue
        position = f"{row.topic}/{row.partition}/{row.offset}"
        yield Span(
            name=f"land {row.topic}",
            kind="consumer",
            trace_id=trace.trace_id,
            span_id=derive_span_id(trace.trace_id, position),
            parent_id=trace.span_id,
            begun=1000 * max(0, row.written),  # a record may have no time
            ended=ended,
            attributes={
                "messaging.system": "kafka",
                "messaging.operation.type": "receive",
                "messaging.destination.name": row.topic,
                "messaging.destination.partition.id": str(row.partition),
                "messaging.kafka.offset": row.offset,
            },
        )


def derive_span_id(trace_id: str, position: str) -> str:
    """Return the id of the span of a record: the same if its batch is repeated."""
    return sha256(f"{trace_id}/{position}".encode()).hexdigest()[:16]


def tell_dropped(count: int) -> None:
    """Say how many spans did not reach the collector."""
    log_progress(f"{count:,} spans were dropped: is the collector up? nothing else is lost")
