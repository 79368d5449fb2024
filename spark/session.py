"""What each job needs: a Spark session, its file systems, progress lines, an exit with an error."""

import os
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

from pyspark.sql import SparkSession

DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
}
SET_BY_SPARK_SUBMIT = {"PYSPARK_GATEWAY_PORT", "PYSPARK_SUBMIT_ARGS"}
STARTED_AT = time.monotonic()


def make_session(name: str, jars: Path | None) -> SparkSession:
    """Return the session of spark-submit, or else one for this machine with these jars."""
    builder = SparkSession.builder.appName(name).config(map=dict(DELTA))
    if SET_BY_SPARK_SUBMIT.isdisjoint(os.environ):
        if jars is None or not any(jars.glob("delta-spark*.jar")):
            exit_with_error("SPARK_JARS_DIR must name the folder with the jars of spark/pom.xml")
        settings_folder = Path(__file__).with_name("conf")
        os.environ.setdefault("SPARK_CONF_DIR", str(settings_folder))
        builder = builder.config("spark.driver.extraClassPath", f"{jars.absolute()}/*")
    return builder.getOrCreate()


def locate(spark: SparkSession, address: str) -> tuple[Any, Any]:
    """Return the file system of an address, a folder or a bucket, and the path in it.

    Only the JVM has Hadoop's file systems.
    """
    jvm: Any = spark.sparkContext._jvm
    hadoop_settings = spark.sparkContext._jsc.hadoopConfiguration()
    path = jvm.org.apache.hadoop.fs.Path(address)
    return path.getFileSystem(hadoop_settings), path


def log_progress(line: str) -> None:
    """Write to standard error how far the job has come; standard output is for its result."""
    elapsed = time.monotonic() - STARTED_AT
    print(f"{elapsed:6.1f} s  {line}", file=sys.stderr, flush=True)  # noqa: T201 - a person waits


def exit_with_error(sentence: str) -> NoReturn:
    """End with one sentence and exit code 2: nothing was done, nothing was found out."""
    sys.stderr.write(f"{sentence}\n")
    raise SystemExit(2)
