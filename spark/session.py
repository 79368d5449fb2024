"""What each job needs: a Spark session, its file systems, progress lines, an exit with an error."""

import json
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn, cast

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from spark.archive import use_archive

SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    # Of two commits with one number one is refused: see java/. S3 has its own, in bucket/.
    "spark.delta.logStore.file.impl": "lake.FolderLogStore",
    # What Spark 4.0 infers from frames that it keeps may name columns that these do not have.
    "spark.sql.constraintPropagation.enabled": "false",
}
SET_BY_SPARK_SUBMIT = {"PYSPARK_GATEWAY_PORT", "PYSPARK_SUBMIT_ARGS"}
CONF = Path(__file__).parent / "conf" / "spark-defaults.conf"
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
FEW_ROWS = 50_000
PARTITIONS = 2  # as spark/conf has it
# The JVM's second compiler takes longer, and its code half the time: worth it from a minute on.
BOTH_COMPILERS = "-XX:TieredStopAtLevel=4"
STDOUT, STDERR = 1, 2  # descriptors, as a process inherits them
STARTED_AT = time.monotonic()


def make_session(
    name: str, jars: Path | None, java_options: str = "", *, is_long: bool = False
) -> SparkSession:
    """Return the session of spark-submit or of SPARK_CONF_DIR, or else one for this machine.

    The latter takes these jars, and is set up for a long or a short job; the others have named
    theirs, and are as they were set up.
    """
    settings: dict[str, Any] = dict(SETTINGS)
    if not has_settings():
        folder = jars_folder(jars)
        settings["spark.driver.extraClassPath"] = f"{folder}/*"
        settings |= of_this_machine(java_options or use_archive(folder), is_long=is_long)
    builder = SparkSession.builder.appName(name)
    with stdout_as_stderr():
        return builder.config(map=settings).getOrCreate()


@contextmanager
def stdout_as_stderr() -> Iterator[None]:
    """Let what is started here print to standard error: standard output has the job's result only.

    The JVM has lines of its own for it, such as Delta's after a VACUUM.
    """
    stdout = os.dup(STDOUT)
    os.dup2(STDERR, STDOUT)
    try:
        yield
    finally:
        os.dup2(stdout, STDOUT)
        os.close(stdout)


def has_settings() -> bool:
    """Return whether somebody has set up Spark, such as for a cluster."""
    from_spark_submit = SET_BY_SPARK_SUBMIT.intersection(os.environ)
    return bool(from_spark_submit) or "SPARK_CONF_DIR" in os.environ


def of_this_machine(java_options: str, *, is_long: bool = False) -> dict[str, str]:
    """Return the settings in conf/, with further options of the JVM: of two, the last one counts.

    They are handed over one by one: with a folder of settings on its class path, the JVM would use
    no archive of classes.
    """
    settings = {}
    for line in CONF.read_text().splitlines():
        if line and not line.startswith("#"):
            name, value = line.split(maxsplit=1)
            settings[name] = value
    settings[JAVA_OPTIONS] += f" {java_options}"
    if is_long:
        settings[JAVA_OPTIONS] += f" {BOTH_COMPILERS}"
    return settings


def is_of_this_machine(spark: SparkSession) -> bool:
    """Return whether all work is done in this process, so that nobody else can die of it."""
    return str(spark.sparkContext.master).startswith("local")


def prepare_for(spark: SparkSession, rows: int) -> None:
    """Choose settings by the number of rows that come now.

    Of few rows most of a task is its start, so they are not divided among the cores; and to make
    and compile programs for them takes longer than to interpret each expression. A session that
    somebody has set up keeps what it was given.
    """
    if has_settings():
        return
    are_many = rows >= FEW_ROWS
    spark.conf.set("spark.sql.shuffle.partitions", PARTITIONS if are_many else 1)
    # Both: with the first alone, Spark makes a program for each expression instead.
    spark.conf.set("spark.sql.codegen.wholeStage", are_many)
    spark.conf.set("spark.sql.codegen.factoryMode", "FALLBACK" if are_many else "NO_CODEGEN")


def gather(frame: DataFrame, rows: int) -> DataFrame:
    """Return a frame in one part if there are few rows, however many small files have them."""
    return frame.coalesce(1) if rows < FEW_ROWS else frame


def make_once(frame: DataFrame, rows: int) -> DataFrame:
    """Return a frame that Spark makes once if there are few rows, and need not plan anew each time.

    In one part: to each of many, Spark would send the program for all.
    """
    are_many = rows >= FEW_ROWS
    return frame if are_many else frame.coalesce(1).localCheckpoint(eager=False)


def jars_folder(jars: Path | None) -> Path:
    """Return the folder with Delta's jars, or end the job if they are not there."""
    if jars is None or not (jars / "lake.jar").exists():
        exit_with_error("SPARK_JARS_DIR must name the folder with the jars of spark/pom.xml")
    return jars.absolute()


def make_frame(spark: SparkSession, rows: Iterable[Sequence[Any]], schema: str) -> DataFrame:
    """Return a few rows as a frame; createDataFrame would start a Python process for them.

    Bytes are given in base64. Of no rows Spark is told so: it then plans nothing for them.
    """
    columns = cast("StructType", StructType.fromDDL(schema))
    objects = [dict(zip(columns.names, row, strict=True)) for row in rows]
    values = {
        "rows": json.dumps(objects, default=datetime.isoformat),
        "type": f"array<struct<{schema}>>",
    }
    statement = "select inline(from_json(:rows, :type, map('mode', 'FAILFAST')))"
    frame = spark.sql(statement, args=values)
    return frame if objects else frame.where("false")


def locate(spark: SparkSession, address: str) -> tuple[Any, Any]:
    """Return the file system of an address, a folder or a bucket, and the path in it.

    Only the JVM has Hadoop's file systems.
    """
    context = spark.sparkContext
    jvm: Any = context._jvm
    hadoop_settings = context._jsc.hadoopConfiguration()
    path = jvm.org.apache.hadoop.fs.Path(address)
    files = path.getFileSystem(hadoop_settings)
    return files, path


def read_lines(spark: SparkSession, files: Any, path: Any) -> list[str]:
    """Return the lines of a text file."""
    jvm: Any = spark.sparkContext._jvm
    io_utils = jvm.org.apache.commons.io.IOUtils
    with closing(files.open(path)) as stream:
        text: str = io_utils.toString(stream, "UTF-8")
    return text.splitlines()


def log_progress(line: str) -> None:
    """Write to standard error how far the job has come; standard output is for its result."""
    elapsed = time.monotonic() - STARTED_AT
    print(f"{elapsed:6.1f} s  {line}", file=sys.stderr, flush=True)  # noqa: T201 - a person waits


def describe(error: Exception) -> str:
    """Return an error as one sentence; errors of the JVM bring their whole stack."""
    if isinstance(error, Py4JJavaError):
        text = str(error.java_exception.toString())
        return first_line(text)
    text = str(error)
    if isinstance(error, PySparkException):
        return first_line(text.strip())
    words = text.split()
    return " ".join(words)


def first_line(text: str) -> str:
    """Return the text up to its first line break."""
    line, _, _ = text.partition("\n")
    return line


def exit_with_error(sentence: str) -> NoReturn:
    """End with one sentence and exit code 2: nothing was done, nothing was found out."""
    sys.stderr.write(f"{sentence}\n")
    raise SystemExit(2)
