"""python -m spark.make_archive: make the archive of classes for the jars of SPARK_JARS_DIR."""

import fcntl
import tempfile
from pathlib import Path

from delta import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark.archive import QUIET, archive_of
from spark.session import make_session
from spark.settings import Settings


def main() -> None:
    """Make it, unless it is there; several that start at once wait for the first."""
    jars = Settings().spark_jars_dir
    assert jars is not None, "set SPARK_JARS_DIR"  # noqa: S101 - nobody types this command
    with (jars / ".archive-lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        archive = archive_of(jars)
        if not archive.exists():
            make(jars, archive)


def make(jars: Path, archive: Path) -> None:
    """Let a session write what it has loaded when its JVM ends; it is there whole or not at all."""
    with tempfile.TemporaryDirectory(dir=jars, prefix=".unfinished-") as folder:
        unfinished = Path(folder, archive.name)
        spark = make_session("classes", jars, f"-XX:ArchiveClassesAtExit={unfinished} {QUIET}")
        load_classes(spark, folder)
        end(spark)
        unfinished.rename(archive)


def load_classes(spark: SparkSession, folder: str) -> None:
    """Do a little of all that the jobs do."""
    path = f"{folder}/table"
    rows = spark.range(100).selectExpr(
        "id", "id % 7 as part", "to_json(struct(id)) as body", "xxhash64(id) as hash"
    )
    rows.write.format("delta").save(path)
    table = DeltaTable.forPath(spark, path)
    merge = table.alias("old").merge(rows.alias("new"), "old.id = new.id")
    merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    table.delete("id = 3")
    table.optimize().executeCompaction()

    found = spark.read.format("delta").load(path)
    sums = found.groupBy("part").agg(F.count("*"), F.sum("id"), F.collect_set("body"))
    found.join(sums, "part", "full_outer").orderBy("id").collect()

    def append(batch: DataFrame, _number: int) -> None:
        batch.write.format("delta").mode("append").save(f"{folder}/copy")

    stream = spark.readStream.format("delta").load(path).writeStream.foreachBatch(append)
    stream = stream.option("checkpointLocation", f"{folder}/checkpoint")
    stream.trigger(availableNow=True).start().awaitTermination()
    kafka = {"kafka.bootstrap.servers": "127.0.0.1:1", "subscribe": "none"}
    spark.readStream.format("kafka").options(**kafka).load()


def end(spark: SparkSession) -> None:
    """Stop the session, and wait until its JVM has written the file."""
    gateway = spark.sparkContext._gateway
    assert gateway is not None  # noqa: S101 - the session has its JVM by it
    java = gateway.proc
    spark.stop()
    java.stdin.close()
    java.wait()


if __name__ == "__main__":
    main()
