"""A landing in a process of its own, which waits for a line before each append.

python -m tests.spark.slow_landing TOPIC...; without IS_FENCED=True it does not ask for its lease.
"""

import os
import sys

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from spark.landing.landing_query import append_batch, hold_landing, start_landing
from spark.session import make_session
from spark.settings import Settings


def append_when_told(rows: DataFrame, path: str, query_id: str, batch_id: int) -> None:
    """Append once somebody has written a line."""
    print("about to append", flush=True)  # noqa: T201 - for the test
    sys.stdin.readline()
    append_batch(rows, path, query_id, batch_id)
    print("appended", flush=True)  # noqa: T201 - for the test


def main(topics: list[str]) -> None:
    """Land what is there."""
    settings = Settings()
    spark = make_session("slow", settings.spark_jars_dir)
    with hold_landing(spark, settings, topics) as lease:
        if os.environ["IS_FENCED"] != "True":
            jvm = spark.sparkContext._jvm
            jvm.lake.Lease.release(lease.address)  # type: ignore[union-attr]
        query = start_landing(spark, settings, topics, once=True, append=append_when_told)
        try:
            query.awaitTermination()
        except (PySparkException, Py4JError) as error:
            print(error, flush=True)  # noqa: T201 - for the test


if __name__ == "__main__":
    main(sys.argv[1:])
