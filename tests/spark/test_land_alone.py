"""Two landings at once: one lock for each lake, and what happens without it."""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from threading import Event

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from spark.landing.landing_query import append_once, start_landing
from spark.lock import exclusive_lock
from tests.spark.topics import Topics, each_once


@pytest.mark.parametrize("spelling", ["{}", "{}/", "{}/../{name}", "file://{}", "file:{}"])
def test_a_lake_has_one_lock_however_it_is_spelled(tmp_path: Path, spelling: str) -> None:
    """A folder and a file:// address of the same folder are the same lake.

    Control: the folder beside it is another one.
    """
    address = spelling.format(tmp_path, name=tmp_path.name)
    with exclusive_lock(str(tmp_path), "land"):
        with pytest.raises(BlockingIOError), exclusive_lock(address, "land"):
            pass
        with exclusive_lock(f"{address}.other", "land"):
            pass


def test_a_second_landing_of_a_file_address_is_refused(tmp_path: Path) -> None:
    """One sentence and exit code 2, before Spark is started."""
    address = f"file://{tmp_path}"
    with exclusive_lock(str(tmp_path), "land"):
        done = subprocess.run(
            [sys.executable, "-m", "spark.land", "--once"],
            env=os.environ | {"DELTA_ROOT": address},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
    sentence = f"another land is at work in {address}: stop it first\n"
    assert (done.returncode, done.stderr) == (2, sentence)


def test_control_two_landings_at_once_double_rows(
    spark: SparkSession, topics: Topics, tmp_path: Path
) -> None:
    """Without the lock, one of other topics begins anew, and both land the same records."""
    first, _ = topics.names
    topics.send(first, 10)
    settings = topics.settings(tmp_path)
    has_begun, goes_on = Event(), Event()

    def append_later(rows: DataFrame, path: str, query_id: str, batch_id: int) -> None:
        has_begun.set()
        assert goes_on.wait(60)
        append_once(rows, path, query_id, batch_id)

    slow = start_landing(spark, settings, topics.names, once=True, append=append_later)
    assert has_begun.wait(60)
    start_landing(spark, settings, [first], once=True).awaitTermination()
    goes_on.set()
    with suppress(StreamingQueryException):  # the other one has deleted its checkpoint
        slow.awaitTermination()

    assert topics.landed(tmp_path)[first] == sorted(each_once(10) * 2)
