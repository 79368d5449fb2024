"""A landing that is killed at a named point of its first batch, as power would end it.

DP1 before the rows are written, DP2 once they are and before Delta's log says so, DP3 after the
last log and before the checkpoint, DP4 between two tables, DP5 while Delta writes a checkpoint of
its log.
"""

import os
import signal
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from threading import Lock, Thread

from pyspark.sql import DataFrame

from spark.lake.landed_tables import PROPERTIES
from spark.landing.landing_query import Append, append_batch, start_landing
from spark.session import make_session
from spark.settings import Settings


def die() -> None:
    """Kill Spark and this process at once."""
    os.killpg(0, signal.SIGKILL)


def before_append() -> Append:
    """Die before the first append."""
    return lambda *_: die()


def after_append(number: int) -> Append:
    """Append as always, and die after the append with this number."""
    begun = count(1)

    def append(rows: DataFrame, path: str, query_id: str, batch_id: int) -> None:
        append_batch(rows, path, query_id, batch_id)
        if next(begun) == number:
            die()

    return append


def once_there_is(pattern: str) -> Append:
    """Append as always, and die as soon as a table has one more such file."""

    def append(rows: DataFrame, path: str, query_id: str, batch_id: int) -> None:
        before = set(Path(path).glob(pattern))
        watcher = Thread(target=die_when_there_is, args=[path, pattern, before], daemon=True)
        watcher.start()
        append_batch(rows, path, query_id, batch_id)
        watcher.join()

    return append


def one_by_one(append: Append) -> Append:
    """Append to one table at a time: a kill then strikes between two."""
    turn = Lock()

    def append_alone(rows: DataFrame, path: str, query_id: str, batch_id: int) -> None:
        with turn:
            append(rows, path, query_id, batch_id)

    return append_alone


def die_when_there_is(path: str, pattern: str, before: set[Path]) -> None:
    """Look again and again: the file is there for tens of milliseconds before the next step."""
    folder = Path(path)
    while set(folder.glob(pattern)) == before:
        time.sleep(0.0005)
    die()


POINTS: dict[str, Callable[[], Append]] = {
    "DP1": before_append,
    "DP2": lambda: once_there_is("part-*.parquet"),
    "DP3": lambda: after_append(2),
    "DP4": lambda: after_append(1),
    "DP5": lambda: once_there_is("_delta_log/*checkpoint*.parquet*"),
}


if __name__ == "__main__":
    point, jars, delta_root, bootstrap_servers, *topics = sys.argv[1:]
    settings = Settings(kafka_bootstrap_servers=bootstrap_servers, delta_root=delta_root)
    spark = make_session("killed", Path(jars))
    if point == "DP5":  # otherwise few commits are followed by one
        PROPERTIES["delta.checkpointInterval"] = "1"
    append = one_by_one(POINTS[point]())
    query = start_landing(spark, settings, topics, once=True, append=append)
    query.awaitTermination()
