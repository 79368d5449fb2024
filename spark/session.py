"""The Spark session: what Delta needs anywhere, and what one machine needs when no master is given."""

import os
import sys
from pathlib import Path
from typing import NoReturn

from pyspark.sql import SparkSession

DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
}
# Most defaults are made for clusters and for hours; on two cores they more than double a short run.
ONE_MACHINE = {
    "spark.master": "local[*]",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "2g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xms1g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.databricks.delta.snapshotPartitions": "2",
}


def make_session(name: str, jars: Path | None) -> SparkSession:
    """A session as spark-submit set it up, or else one for this machine with these jars."""
    options = DELTA
    if not {"PYSPARK_GATEWAY_PORT", "PYSPARK_SUBMIT_ARGS"} & set(os.environ):
        if jars is None or not any(jars.glob("delta-spark*.jar")):
            give_up("SPARK_JARS_DIR must name the folder with the jars of spark/pom.xml")
        options = DELTA | ONE_MACHINE | {"spark.driver.extraClassPath": f"{jars.absolute()}/*"}
    return SparkSession.builder.appName(name).config(map=dict(options)).getOrCreate()


def give_up(sentence: str) -> NoReturn:
    """End with one sentence and exit code 2: nothing was done, nothing was found out."""
    sys.stderr.write(f"{sentence}\n")
    raise SystemExit(2)
