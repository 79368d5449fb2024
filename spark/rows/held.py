"""Rows of the databases, held until a run is over: the moment that they are of may be over sooner.

One process dies with what its memory holds. Of a cluster, a worker dies alone, and another one
would have to read again what it held. There all goes to files of the lake.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from pyspark.sql import SparkSession

from spark.rows.frames import Frames
from spark.session import is_of_this_machine, locate


@contextmanager
def place_to_hold(spark: SparkSession, folder: str) -> Iterator[None]:
    """Have a folder for what is held, and delete it afterwards, and what a dead run has left."""
    if is_of_this_machine(spark):
        yield
        return
    files, path = locate(spark, folder)
    files.delete(path, True)
    spark.sparkContext.setCheckpointDir(folder)
    try:
        yield
    finally:
        files.delete(path, True)


def hold_rows(frames: Frames) -> Frames:
    """Return the frames with rows that nobody has to read again."""
    any_frame = next(iter(frames.values()))
    if is_of_this_machine(any_frame.sparkSession):
        return {name: frame.persist() for name, frame in frames.items()}
    with ThreadPoolExecutor() as threads:
        written = threads.map(lambda frame: frame.checkpoint(), frames.values())
        return dict(zip(frames, written, strict=True))
