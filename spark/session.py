"""The Spark session of a job, the files that it can open, what it says meanwhile, and how it gives up."""

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
BEGAN = time.monotonic()


def make_session(name: str, jars: Path | None) -> SparkSession:
    """A session as spark-submit set it up, or else one for this machine with these jars."""
    builder = SparkSession.builder.appName(name).config(map=dict(DELTA))
    if not {"PYSPARK_GATEWAY_PORT", "PYSPARK_SUBMIT_ARGS"} & set(os.environ):
        if jars is None or not any(jars.glob("delta-spark*.jar")):
            give_up("SPARK_JARS_DIR must name the folder with the jars of spark/pom.xml")
        os.environ.setdefault("SPARK_CONF_DIR", str(Path(__file__).with_name("conf")))
        builder = builder.config("spark.driver.extraClassPath", f"{jars.absolute()}/*")
    return builder.getOrCreate()


def locate(spark: SparkSession, address: str) -> tuple[Any, Any]:
    """The file system of an address, a folder or a bucket, and the path in it: Hadoop has no door but the JVM."""
    jvm: Any = spark.sparkContext._jvm
    path = jvm.org.apache.hadoop.fs.Path(address)
    return path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()), path


def say(line: str) -> None:
    """Where the job is, at once and beside its result."""
    print(f"{time.monotonic() - BEGAN:6.1f} s  {line}", file=sys.stderr, flush=True)  # noqa: T201 - a person waits


def give_up(sentence: str) -> NoReturn:
    """End with one sentence and exit code 2: nothing was done, nothing was found out."""
    sys.stderr.write(f"{sentence}\n")
    raise SystemExit(2)
