"""The lake in a bucket, landed and judged by an engine whose workers may die."""

import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from signal import SIGCONT, SIGKILL, SIGSTOP

import pytest

from contract.names import INPUT_TOPIC
from ops.security import Security
from ops.settings import ROOT
from ops.stack.stack import Stack
from tests.client import until, until_handled
from tests.cluster.engine import Engine, class_path, engine
from tests.cluster.lake_store import BUCKET, KEYS, lake_store, read_columns, write_credentials
from tests.load import orders
from tests.reconciliation import GOOD
from tests.secured.test_path import find_secrets, found_in, processes
from tests.stacks import PORTS

pytestmark = pytest.mark.prove
LAKE = f"s3a://{BUCKET}/delta"
JOB_SECONDS = 400


class Job:
    """A job as people start it on a cluster: a driver of its own."""

    def __init__(self, process: "subprocess.Popen[bytes]", log: Path) -> None:
        self.process = process
        self.log = log

    def said(self) -> str:
        """Return what it has said so far."""
        return self.log.read_text()

    def until_said(self, text: str) -> None:
        """Wait until it says this."""
        until(self.said, lambda said: text in said, JOB_SECONDS, f"it never said {text!r}")

    def until_ended(self) -> int:
        """Wait until it ends, and return its exit code."""
        return self.process.wait(JOB_SECONDS)

    def kill(self) -> None:
        """Kill it together with its JVM."""
        os.killpg(self.process.pid, SIGKILL)
        self.process.wait()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A store with an empty bucket."""
    with lake_store(tmp_path_factory.mktemp("store"), PORTS + 240) as url:
        yield url


@pytest.fixture(scope="module")
def workers(store: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """A master and two workers."""
    folder = tmp_path_factory.mktemp("engine")
    events = folder / "conf" / "events"
    events.mkdir(parents=True)
    jars = class_path()
    values = {
        "spark.driver.extraClassPath": jars,
        "spark.executor.extraClassPath": jars,
        "spark.driver.host": "127.0.0.1",
        "spark.authenticate.secret": secrets.token_urlsafe(32),
        "spark.cores.max": "2",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": f"file:{events}",
        "spark.hadoop.fs.s3a.endpoint": store,
    }
    credentials = folder / "credentials"
    write_credentials(credentials)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(credentials))
        with engine(folder / "conf", PORTS + 241, values) as made:
            yield made


@contextmanager
def started(stack: Stack, workers: Engine, *words: str, root: str = LAKE) -> Iterator[Job]:
    """Start a job of the lake on the cluster."""
    log = workers.folder / f"{words[0]}-{secrets.token_hex(4)}.log"
    env = os.environ | stack.env()
    env |= {"SPARK_CONF_DIR": str(workers.folder), "DELTA_ROOT": root}
    with (
        log.open("wb") as output,
        subprocess.Popen(
            [sys.executable, "-m", *words],
            env=env,
            cwd=ROOT,
            stdout=output,
            stderr=output,
            start_new_session=True,
        ) as process,
    ):
        job = Job(process, log)
        try:
            yield job
        finally:
            if process.poll() is None:
                job.kill()


def test_a_worker_and_a_driver_die_while_they_land(stack: Stack, workers: Engine) -> None:
    """A worker that is killed costs a batch's time; a driver that is killed is started again."""
    orders(3_000)
    until_handled()
    with started(stack, workers, "spark.land") as landing:
        landing.until_said("batch 0")
        orders(1_000)
        workers.kill("worker-0")
        landing.until_said("batch 1")
        landing.kill()
    workers.start_worker(0)
    orders(1_000)
    until_handled()
    with started(stack, workers, "spark.land", "--once") as landing:
        assert landing.until_ended() == 0, landing.said()


def test_a_worker_dies_while_they_reconcile(stack: Stack, workers: Engine) -> None:
    """It dies when the databases' moment is over already: what they held is in files."""
    with started(stack, workers, "spark.reconcile", "--land", "--full") as judging:
        judging.until_said("rows of the databases are read")
        workers.kill("worker-1")
        assert judging.until_ended() == 0, judging.said()
    assert GOOD in judging.said()
    workers.start_worker(1)


@pytest.mark.parametrize("job", [["spark.land"], ["spark.reconcile", "--full"]])
def test_of_two_at_once_one_says_so(stack: Stack, workers: Engine, job: list[str]) -> None:
    """No lock of a machine tells them: the lease is in the bucket."""
    orders(10)
    with started(stack, workers, *job) as first:
        first.until_said("batch" if job == ["spark.land"] else "rows of the databases are read")
        with started(stack, workers, *job) as second:
            assert second.until_ended() == 2
        assert f"is at work in {LAKE}" in second.said()


def test_a_landing_that_stood_still_is_taken_over(stack: Stack, workers: Engine) -> None:
    """The next one lands all; the one that wakes says so and ends, and nothing landed twice."""
    orders(10)
    with started(stack, workers, "spark.land") as first:
        first.until_said("batch")
        os.killpg(first.process.pid, SIGSTOP)
        orders(500)
        until_handled()
        with started(stack, workers, "spark.land", "--once") as second:
            assert second.until_ended() == 0, second.said()
        assert "took over" in second.said()
        os.killpg(first.process.pid, SIGCONT)
        assert first.until_ended() == 2
    assert "lease/land/" in first.said()
    with started(stack, workers, "spark.reconcile", "--land", "--full") as judging:
        assert judging.until_ended() == 0, judging.said()
    assert GOOD in judging.said()


def test_no_secret_is_in_what_spark_writes(
    stack: Stack, workers: Engine, security: Security
) -> None:
    """Neither in an event log, in what master and workers log, nor in a command line of theirs.

    Control: what they write has been read, for it names the tables.
    """
    ours = find_secrets(security.secrets) | {KEYS["AWS_SECRET_ACCESS_KEY"].encode()}
    with started(stack, workers, "spark.reconcile", "--full") as judging:
        judging.until_said("rows of the databases are read")
        of_others = [line for line in processes().splitlines() if b"versitygw" not in line]
        assert judging.until_ended() == 0, judging.said()
    files = [file for file in workers.folder.rglob("*") if file.is_file()]
    files = [file for file in files if ".inprogress" not in file.name]  # empty, and renamed later
    written = [file for file in files if file.name != "spark-defaults.conf"]
    assert len(ours) > 10
    assert found_in(ours, written) == set()
    assert not [secret for secret in ours if secret in b"".join(of_others)]
    assert found_in({b"from tracking"}, written)


def test_readers_outside_spark_open_the_tables(store: str, stack: Stack, workers: Engine) -> None:
    """Each record stands once in what another reader sees in the bucket."""
    table = f"{LAKE}/landed/{INPUT_TOPIC}"
    positions = read_columns(store, table, "topic", "partition", "offset")
    assert len(set(positions)) == len(positions) >= 500
