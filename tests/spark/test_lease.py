"""The lease of a lake: who holds it, who takes it over, and what the one before cannot do then."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from ops.settings import ROOT
from spark import lease
from spark.landing.landing_query import hold_landing, start_landing
from spark.lease import hold_lease
from spark.session import locate
from tests.spark.topics import Topics, each_once

# A holder stops writing after this, so that the tests need not wait for long.
SHORT_SECONDS = 5.0


@pytest.mark.parametrize("spelling", ["{}", "{}/", "{}/../{name}", "file://{}", "file:{}"])
def test_a_lake_has_one_lease_however_it_is_spelled(
    spark: SparkSession, tmp_path: Path, spelling: str
) -> None:
    """A folder and a file:// address of the same folder are the same lake.

    Control: the folder beside it is another one.
    """
    address = spelling.format(tmp_path, name=tmp_path.name)
    with hold_lease(spark, str(tmp_path), "land"):
        with pytest.raises(BlockingIOError), hold_lease(spark, address, "land"):
            pass
        with hold_lease(spark, f"{address}.other", "land"):
            pass
        with hold_lease(spark, address, "compact"):
            pass


def test_a_second_landing_is_refused(spark: SparkSession, tmp_path: Path, kafka: str) -> None:
    """One sentence and exit code 2."""
    address = f"file://{tmp_path}"
    with hold_lease(spark, str(tmp_path), "land"):
        done = subprocess.run(
            [sys.executable, "-m", "spark.land", "--once"],
            env=os.environ | {"DELTA_ROOT": address, "KAFKA_BOOTSTRAP_SERVERS": kafka},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
    sentence = f"another land is at work in {address}: stop it first\n"
    assert done.returncode == 2
    assert done.stderr.endswith(sentence)


def test_a_lease_that_was_given_back_is_taken_by_the_next(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Nothing is taken over then, and of the earlier leases no file stays."""
    for number in ("1", "2", "3"):
        with hold_lease(spark, str(tmp_path), "land") as held:
            assert held.address.endswith(f"/{number}")
            assert not held.is_taken_over
    names = {file.name for file in (tmp_path / "lease" / "land").iterdir()}
    assert {name for name in names if not name.startswith(".")} == {"3", "3.beat"}


def test_who_took_over_without_the_lock_is_not_taken_for_dead(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that stood still ends, and frees its lock: whoever gets it finds another at work.

    Control: of a holder that had the lock, the free lock says that it is dead.
    """
    monkeypatch.setattr(lease, "hold_file", lambda *_: nullcontext(enter_result=False))
    with hold_lease(spark, str(tmp_path), "land") as held:
        monkeypatch.undo()
        with pytest.raises(BlockingIOError), hold_lease(spark, str(tmp_path), "land"):
            pass
        file = Path(held.address)
        file.write_text(file.read_text().replace("false", "true"))
        with hold_lease(spark, str(tmp_path), "land") as taken:
            assert taken.is_taken_over


@contextmanager
def lander(root: Path, topics: Topics, *, is_fenced: bool) -> Iterator["subprocess.Popen[str]"]:
    """Start a landing that stops before its first append, with a process group of its own."""
    started = subprocess.Popen(
        [sys.executable, "-m", "tests.spark.slow_landing", *topics.names],
        env=os.environ
        | {
            "DELTA_ROOT": str(root),
            "KAFKA_BOOTSTRAP_SERVERS": topics.bootstrap_servers,
            "IS_FENCED": str(is_fenced),
        },
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    with started as process:
        try:
            yield process
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def read_until(process: "subprocess.Popen[str]", text: str) -> str:
    """Read what a process writes up to a line with this text, or to its end."""
    seen = ""
    assert process.stdout is not None
    for line in process.stdout:
        seen += line
        if text in line:
            return seen
    raise AssertionError(f"{text!r} was never written: {seen}")


@pytest.mark.parametrize("is_fenced", [True, False])
def test_who_stood_still_beyond_its_lease_lands_nothing(
    spark: SparkSession,
    topics: Topics,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_fenced: bool,
) -> None:
    """A landing that is stopped, taken over and woken may not append.

    The second lands other topics, and so begins a checkpoint of its own: no batch number tells
    Delta that the records are the same. Control: one that does not ask for its lease appends them
    once more.
    """
    monkeypatch.setattr(lease, "LEASE_SECONDS", SHORT_SECONDS)
    first, _ = topics.names
    topics.send(first, 10)
    settings = topics.settings(tmp_path)
    with lander(tmp_path, topics, is_fenced=is_fenced) as slow:
        read_until(slow, "about to append")
        os.killpg(slow.pid, signal.SIGSTOP)
        with hold_landing(spark, settings, [first]) as held:
            assert held.is_taken_over
            start_landing(spark, settings, [first], once=True).awaitTermination()
            os.killpg(slow.pid, signal.SIGCONT)
            assert slow.stdin is not None
            slow.stdin.write("append\n")
            slow.stdin.close()
            read_until(slow, "is lost" if is_fenced else "appended")
            assert not held.is_lost
    copies = 1 if is_fenced else 2
    assert topics.landed(tmp_path)[first] == sorted(each_once(10) * copies)


def test_whoever_takes_over_takes_the_number_of_the_next_commit(
    spark: SparkSession, topics: Topics, tmp_path: Path
) -> None:
    """So a commit that was already allowed is refused, and must ask again.

    Control: after a lease that was given back, no such commit is made.
    """
    settings = topics.settings(tmp_path)
    first, _ = topics.names
    log = tmp_path / "landed" / first / "_delta_log"
    with hold_landing(spark, settings, [first]):
        start_landing(spark, settings, [first], once=True).awaitTermination()
    before = len(list(log.glob("*.json")))
    with hold_landing(spark, settings, [first]):
        pass
    assert len(list(log.glob("*.json"))) == before
    beat = max((tmp_path / "lease" / "land").glob("*.beat"))
    beat.write_text("7")  # as one that was killed leaves it
    with hold_landing(spark, settings, [first]) as held:
        assert held.is_taken_over
    assert len(list(log.glob("*.json"))) == before + 1


@pytest.mark.parametrize("overwrite", [False, True])
def test_of_commits_with_one_number_one_is_written(
    spark: SparkSession, tmp_path: Path, overwrite: bool
) -> None:
    """Eight at once, a hundred times: each number has one winner, and holds what it wrote.

    Control: of writers that may overwrite, all believe that theirs is what stands there.
    """
    jvm: Any = spark.sparkContext._jvm
    settings = spark.sparkContext._jsc.hadoopConfiguration()
    store = jvm.lake.FolderLogStore(settings)
    (tmp_path / "_delta_log").mkdir()

    def wins(number: int, writer: int) -> bool:
        _, path = locate(spark, f"{tmp_path}/_delta_log/{number:020d}.json")
        lines = jvm.java.util.ArrayList()
        lines.add(f"writer {writer}")
        try:
            store.write(path, lines.iterator(), overwrite, settings)
        except Py4JJavaError as error:
            if "FileAlreadyExistsException" not in str(error.java_exception.toString()):
                raise
            return False
        return True

    with ThreadPoolExecutor(8) as writers:
        for number in range(100):
            won = list(writers.map(partial(wins, number), range(8)))
            if overwrite:
                assert sum(won) > 1
                continue
            assert sum(won) == 1
            written = (tmp_path / "_delta_log" / f"{number:020d}.json").read_text()
            assert written == f"writer {won.index(True)}\n"
