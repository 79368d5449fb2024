"""The logs of the landed tables: one that is damaged ends the job, before its rows are missed.

Delta takes a log file that was cut off for a commit of nothing, and goes on.
"""

import json
from collections.abc import Sequence
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from spark.lake.landed_tables import table_path
from spark.session import exit_with_error, locate, read_lines


def refuse_damaged_logs(
    spark: SparkSession, delta_root: str, checkpoint: str, topics: Sequence[str]
) -> None:
    """End the job if a log file that Delta will read is damaged."""
    for topic in topics:
        table = table_path(delta_root, topic)
        files, folder = locate(spark, f"{table}/_delta_log")
        logs = logs_to_read(spark, files, folder)
        damaged = [version for version in logs if not is_whole(spark, files, logs[version])]
        if not damaged:
            continue
        path = logs[damaged[0]]
        way_out = f"put it back from a backup, or move {table} and {checkpoint} away: then all"
        way_out += " that Kafka still has of the topic lands again"
        if damaged == [max(logs)]:
            way_out = f"remove it and {checkpoint}, and landing goes on after the rows before it"
        exit_with_error(f"{path} is damaged: {way_out}")


def logs_to_read(spark: SparkSession, files: Any, folder: Any) -> dict[int, Any]:
    """Return the paths of the log files behind Delta's last checkpoint, by their versions."""
    if not files.exists(folder):
        return {}
    first = 1 + last_checkpoint(spark, files, folder)
    logs = {}
    for status in files.listStatus(folder):
        path = status.getPath()
        name, _, kind = path.getName().partition(".")
        if kind == "json" and name.isdigit() and int(name) >= first:
            logs[int(name)] = path
    return logs


def last_checkpoint(spark: SparkSession, files: Any, folder: Any) -> int:
    """Return the version up to which Delta reads no log; without a file that says it, it lists."""
    _, path = locate(spark, f"{folder}/_last_checkpoint")
    if not files.exists(path):
        return -1
    try:
        [line] = read_lines(spark, files, path)
        version: int = json.loads(line)["version"]
    except (Py4JJavaError, LookupError, ValueError):
        return -1
    return version


def is_whole(spark: SparkSession, files: Any, path: Any) -> bool:
    """Return whether a log file has lines, and each of them is JSON."""
    try:
        lines = read_lines(spark, files, path)
        actions = [json.loads(line) for line in lines]
    except (Py4JJavaError, ValueError):
        return False
    return bool(actions)
