"""The checkpoint of the landing query: it only goes on with the topics that it began with."""

import json
from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession

from spark.session import locate


def drop_if_topics_changed(spark: SparkSession, delta_root: str, topics: Sequence[str]) -> bool:
    """Delete a checkpoint that is about other topics, and return whether there was one.

    Spark refuses to go on without a topic, and begins a new one at its first record even where its
    table is filled already. Both happen when an extra leaves or comes. Without a checkpoint every
    topic goes on where its table ends.
    """
    known = topics_of_checkpoint(spark, delta_root)
    if known is None or known == set(topics):
        return False
    files, checkpoint = locate(spark, f"{delta_root}/checkpoint")
    files.delete(checkpoint, True)
    return True


def topics_of_checkpoint(spark: SparkSession, delta_root: str) -> set[str] | None:
    """Return the topics of the last batch that was begun, or None if there is no checkpoint."""
    address = f"{delta_root}/checkpoint/offsets"
    files, folder = locate(spark, address)
    if not files.exists(folder):
        return None
    names = [status.getPath().getName() for status in files.listStatus(folder)]
    batches = [int(name) for name in names if name.isdigit()]
    if not batches:
        return None
    [text] = spark.read.text(f"{address}/{max(batches)}", wholetext=True).collect()
    # The version, the batch's settings, and then for our one source a line of offsets by topic.
    offsets: dict[str, Any] = json.loads(text.value.splitlines()[-1])
    return set(offsets)
