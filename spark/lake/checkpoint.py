"""The checkpoint of the landing: how far its batches have come."""

import json
from collections.abc import Sequence
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from spark.kafka.positions import Position
from spark.session import exit_with_error, locate, log_progress, read_lines


def checkpoint_path(delta_root: str) -> str:
    """Return where the query notes how far it has come."""
    return f"{delta_root}/checkpoint"


def keep_checkpoint(spark: SparkSession, checkpoint: str, topics: Sequence[str]) -> bool:
    """Return whether there is a checkpoint of these topics; delete one of other topics.

    Spark would take the records of a topic that is not read any more for lost, and read a topic
    that is new to the checkpoint from its beginning, although it may have landed before.
    """
    known_topics = checkpoint_topics(spark, checkpoint)
    if known_topics == set(topics):
        return True
    if known_topics:
        log_progress("other topics than before: landing goes on after the tables' last rows")
        delete_checkpoint(spark, checkpoint)
    return False


def delete_checkpoint(spark: SparkSession, checkpoint: str) -> None:
    """Let the next query begin where it is told to."""
    files, path = locate(spark, checkpoint)
    files.delete(path, True)


def checkpoint_topics(spark: SparkSession, checkpoint: str) -> set[str]:
    """Return the topics that the newest batch of a checkpoint names."""
    files, folder = locate(spark, f"{checkpoint}/offsets")
    newest = newest_batch(files, folder)
    if newest is None:
        return set()
    return set(read_ends(spark, files, newest))


def committed_ends(spark: SparkSession, checkpoint: str) -> dict[Position, int]:
    """Return where the newest committed batch of a checkpoint ends, or where its first begins."""
    files, commits = locate(spark, f"{checkpoint}/commits")
    newest = newest_batch(files, commits)
    name = f"offsets/{newest.getName()}" if newest else "sources/0/0"
    _, path = locate(spark, f"{checkpoint}/{name}")
    if not files.exists(path):
        return {}
    found = {}
    for topic, ends in read_ends(spark, files, path).items():
        for partition, end in ends.items():
            found[topic, int(partition)] = end
    return found


def read_ends(spark: SparkSession, files: Any, batch: Any) -> dict[str, dict[str, int]]:
    """Return where a batch of a checkpoint ends, by topic and partition."""
    *_, last_line = read_lines(spark, files, batch)
    ends: dict[str, dict[str, int]] = json.loads(last_line)
    return ends


def unfinished_batch(spark: SparkSession, checkpoint: str) -> int | None:
    """Return the number of the batch that was begun and not committed, if there is one."""
    files, offsets = locate(spark, f"{checkpoint}/offsets")
    _, commits = locate(spark, f"{checkpoint}/commits")
    begun = newest_batch(files, offsets)
    committed = newest_batch(files, commits)
    if begun is None:
        return None
    is_committed = committed is not None and committed.getName() == begun.getName()
    return None if is_committed else int(begun.getName())


def newest_batch(files: Any, folder: Any) -> Any | None:
    """Return the path of the newest batch in this folder of a checkpoint; None if there is none."""
    if not files.exists(folder):
        return None
    batches = {}
    for status in files.listStatus(folder):
        path = status.getPath()
        name = path.getName()
        if name.isdigit():
            batches[int(name)] = path
    if not batches:
        return None
    newest = max(batches)
    return batches[newest]


def refuse_damaged_checkpoint(spark: SparkSession, checkpoint: str) -> None:
    """End the job if a file that Spark will read first is damaged: Spark would not say which."""
    files, metadata = locate(spark, f"{checkpoint}/metadata")
    read_first = [metadata] if files.exists(metadata) else []
    for name in ("offsets", "commits"):
        _, folder = locate(spark, f"{checkpoint}/{name}")
        newest = newest_batch(files, folder)
        if newest is not None:
            read_first.append(newest)
    for path in read_first:
        try:
            read_ends(spark, files, path)
        except (Py4JJavaError, ValueError):
            exit_with_error(
                f"{path} is damaged: remove the folder {checkpoint}, and landing goes on after"
                " the last rows of its tables"
            )
