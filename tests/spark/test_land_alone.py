"""What happens when two land at once, and no lease is asked for (test_lease.py)."""

from contextlib import suppress
from pathlib import Path
from threading import Event

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from spark.landing.landing_query import append_batch, start_landing
from tests.spark.topics import Topics, each_once


def test_control_two_landings_at_once_double_rows(
    spark: SparkSession, topics: Topics, tmp_path: Path
) -> None:
    """Without the lease, one of other topics begins anew, and both land the same records."""
    first, _ = topics.names
    topics.send(first, 10)
    settings = topics.settings(tmp_path)
    has_begun, goes_on = Event(), Event()

    def append_later(rows: DataFrame, path: str, query_id: str, batch_id: int) -> None:
        has_begun.set()
        assert goes_on.wait(60)
        append_batch(rows, path, query_id, batch_id)

    slow = start_landing(spark, settings, topics.names, once=True, append=append_later)
    assert has_begun.wait(60)
    start_landing(spark, settings, [first], once=True).awaitTermination()
    goes_on.set()
    with suppress(StreamingQueryException):  # the other one has deleted its checkpoint
        slow.awaitTermination()

    assert topics.landed(tmp_path)[first] == sorted(each_once(10) * 2)
