"""Two drivers that append to one table in a bucket, without a lease: no commit is lost."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from ops.settings import ROOT
from tests.cluster.engine import class_path, write_settings
from tests.cluster.lake_store import BUCKET, lake_store, read_columns, write_credentials
from tests.cluster.slow_commits import slow_way
from tests.stacks import PORTS

pytestmark = pytest.mark.prove
EACH = 10
STORES = {
    "lake.BucketLogStore": True,
    "io.delta.storage.S3SingleDriverLogStore": False,  # Delta's default for S3
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A store with an empty bucket."""
    with lake_store(tmp_path_factory.mktemp("store"), PORTS + 248) as url:
        yield url


@contextmanager
def appender(folder: Path, table: str, first: int, count: int) -> Iterator["subprocess.Popen[str]"]:
    """Start a driver that waits for a line."""
    command = [sys.executable, "-m", "tests.cluster.appender", table, str(first), str(count)]
    with (
        (folder / f"{first}.log").open("w") as log,
        subprocess.Popen(
            command,
            env=os.environ
            | {
                "SPARK_CONF_DIR": str(folder),
                "AWS_SHARED_CREDENTIALS_FILE": str(folder / "credentials"),
            },
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as process,
    ):
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n", (folder / f"{first}.log").read_text()
            yield process
        finally:
            process.kill()


def append_together(folder: Path, table: str, firsts: list[int], count: int) -> list[int]:
    """Let a driver for each of these numbers append at once; return what was acknowledged."""
    with ExitStack() as opened:
        drivers = [opened.enter_context(appender(folder, table, first, count)) for first in firsts]
        for driver in drivers:
            assert driver.stdin is not None
            driver.stdin.write("\n")
            driver.stdin.flush()
        said = [driver.communicate(timeout=300)[0] for driver in drivers]
    return sorted(int(line) for one in said for line in one.splitlines())


@pytest.mark.parametrize(("log_store", "keeps_all"), STORES.items())
def test_of_two_drivers_no_commit_is_lost(
    store: str, tmp_path: Path, log_store: str, keeps_all: bool
) -> None:
    """What was acknowledged is in the table, once. Control: Delta's default store loses some."""
    table = f"s3a://{BUCKET}/{log_store}"
    write_credentials(tmp_path / "credentials")
    with slow_way(PORTS + 249, store) as slow:
        jars = class_path()
        write_settings(
            tmp_path,
            {
                "spark.master": "local[1]",
                "spark.driver.extraClassPath": jars,
                "spark.driver.bindAddress": "127.0.0.1",
                "spark.driver.host": "127.0.0.1",
                "spark.authenticate": "false",
                "spark.network.crypto.enabled": "false",
                "spark.delta.logStore.s3a.impl": log_store,
                "spark.hadoop.fs.s3a.endpoint": slow,
            },
        )
        append_together(tmp_path, table, [0], 1)
        acknowledged = append_together(tmp_path, table, [100, 200], EACH)
    found = sorted(number for (number,) in read_columns(store, table, "id"))
    assert len(acknowledged) == 2 * EACH
    assert len(set(found)) == len(found)
    assert (found == [0, *acknowledged]) is keeps_all
