"""Landed rows that were added, removed or altered since the horizon at offsets that it had judged.

Delta's log names the files that each version added and removed. What stands in both is only in
another file: a table that was compacted has not changed.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import unquote

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, Row, SparkSession

from spark.judging.horizon import Horizon, NotCheckedError, Version, list_versions
from spark.lake.landed_tables import COLUMNS, SCHEMA, table_path
from spark.rows.frames import query
from spark.session import make_frame
from spark.statements import read_statements

STATEMENTS = read_statements(Path(__file__).with_suffix(".sql"))
FILE = "struct<path string, dataChange boolean, deletionVector struct<storageType string>>"
ACTIONS = f"add {FILE}, remove {FILE}"
POSITION_SCHEMA = "topic string, partition int, offset bigint"


def find_changed(
    spark: SparkSession,
    delta_root: str,
    horizon: Horizon,
    versions: Mapping[str, Version],
) -> DataFrame:
    """Return the positions before the horizon at which a table holds other rows than then."""
    changed = make_frame(spark, [], POSITION_SCHEMA)
    for topic, version in versions.items():
        path = table_path(delta_root, topic)
        logs = logs_since(spark, path, topic, horizon, version)
        if not logs:
            continue
        changes = list_changes(spark, logs)
        if any(change.deletionVector for change in changes):
            raise NotCheckedError(f"rows of {topic} were deleted by deletion vectors", horizon)
        try:
            added = read_files(spark, path, changes, "add")
            removed = read_files(spark, path, changes, "remove")
        except AnalysisException as error:
            if error.getCondition() != "PATH_NOT_FOUND":
                raise
            reason = f"data files of {path} are deleted that were written or replaced"
            raise NotCheckedError(reason, horizon) from None
        frames = {"added": added, "removed": removed}
        of_topic = query(STATEMENTS["changed"], frames, ends=json.dumps(horizon.ends))
        changed = changed.union(of_topic)
    return changed


def logs_since(
    spark: SparkSession, path: str, topic: str, horizon: Horizon, version: Version
) -> list[str]:
    """Return the log files of the versions since the horizon's."""
    logs = list_versions(spark, path)
    judged = horizon.versions[topic].number
    numbers = range(judged + 1, version.number + 1)
    if any(number not in logs for number in numbers):
        raise NotCheckedError(f"log files of {path} are gone that were written", horizon)
    return [logs[number] for number in numbers]


def list_changes(spark: SparkSession, logs: list[str]) -> list[Row]:
    """Return what these log files say of data files: each that was added, and each removed."""
    actions = spark.read.schema(ACTIONS).json(logs)
    files = actions.selectExpr(
        "inline(array(struct('add' as action, add.*), struct('remove' as action, remove.*)))"
    )
    return files.where("path is not null").collect()


def read_files(spark: SparkSession, path: str, changes: Iterable[Row], action: str) -> DataFrame:
    """Return the rows of the data files that were added or removed; others are only rewritten."""
    of_data = {one.path for one in changes if one.action == action and one.dataChange}
    if not of_data:
        return make_frame(spark, [], SCHEMA)
    files = [f"{path}/{unquote(name)}" for name in sorted(of_data)]
    return spark.read.schema(SCHEMA).parquet(*files).select(*COLUMNS)
