"""A landing that is killed between its first and its second table, as power would end it."""

import os
import signal
import sys
from pathlib import Path

from pyspark.sql import DataFrame

from spark.landing_query import append_once, start_landing
from spark.session import make_session
from spark.settings import Settings


def append_and_die(rows: DataFrame, path: str, query_id: str, batch_id: int) -> None:
    """Land one table, then kill Spark and this process at once."""
    append_once(rows, path, query_id, batch_id)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    jars, delta_root, bootstrap_servers, *topics = sys.argv[1:]
    settings = Settings(kafka_bootstrap_servers=bootstrap_servers, delta_root=delta_root)
    spark = make_session("killed", Path(jars))
    query = start_landing(spark, settings, topics, once=True, append=append_and_die)
    query.awaitTermination()
