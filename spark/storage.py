"""Files wherever Hadoop can open them: a folder here, a bucket elsewhere."""

from typing import Any

from pyspark.sql import SparkSession


def exists(spark: SparkSession, address: str) -> bool:
    """Whether a file or a folder is there."""
    files, path = locate(spark, address)
    return bool(files.exists(path))


def write_text(spark: SparkSession, address: str, text: str) -> None:
    """Write a file anew."""
    files, path = locate(spark, address)
    files.setWriteChecksum(False)
    stream = files.create(path, True)
    stream.write(bytearray(text.encode()))
    stream.close()


def locate(spark: SparkSession, address: str) -> tuple[Any, Any]:
    """The file system of an address, and the path in it; Hadoop has no other door than the JVM."""
    jvm: Any = spark.sparkContext._jvm
    path = jvm.org.apache.hadoop.fs.Path(address)
    return path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()), path
