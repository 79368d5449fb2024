"""The embedded stack, started once for all tests that need it, and a second one to spoil.

What the tests leave on the first must reconcile: nothing lost, nothing doubled, whatever they did
to it. A stack that is up already (RUN_DIR=.run/test) is used as it is, and left running; any other
begins empty. Tests that run beside these have stacks of their own, with another TEST_RUN.
"""

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import pytest
from pyspark.sql import SparkSession
from sqlalchemy import Engine

from contract.extras import manifests
from ops.extra import extra_processes
from ops.jars import fetch_jars
from ops.settings import ROOT, Settings
from ops.stack.stack import Stack
from service.database import connect_to
from spark.judging.settled import Options
from spark.parts import load_parts
from spark.reconcile import Result, run
from spark.session import make_session, prepare_for
from spark.settings import Settings as SparkSettings

# The first of three hundred ports for the tests' own.
PORTS = int(os.environ.get("TEST_PORTS", "15500"))
# What the names of the stacks' folders begin with.
RUN = os.environ.get("TEST_RUN", "test")

# They judge what every other test has left on the clean stack: first each extra its own hops, when
# Spark is warm, and in the end everything.
JUDGES_LAST = "tests/e2e/test_reconcile.py"
JUDGES_AN_EXTRA = "test_afterwards_everything_reconciles"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the judges last, wherever the tests before them are."""
    items.sort(key=place_among_judges)


def place_among_judges(item: pytest.Item) -> int:
    """Return 0 for a test that is judged, and more for one that judges."""
    if item.path == ROOT / JUDGES_LAST:
        return 2
    return 1 if item.name == JUDGES_AN_EXTRA else 0


@contextmanager
def running(
    name: str,
    ports: int,
    started: frozenset[str] = frozenset(),
    *,
    anew: bool = True,
    session_seconds: int = 6,
    **more: Any,
) -> Iterator[Stack]:
    """Run a stack in a folder and on ports of its own, with the processes of these extras."""
    extras: dict[str, bool | int | str] = {}
    for number, (extra, process) in enumerate(extra_processes().items()):
        extras |= {process.switch: extra in started, process.port: ports + 20 + number}
    with pytest.MonkeyPatch.context() as patch:
        # By default the broker's least: a killed worker is missed sooner.
        patch.setenv("SESSION_TIMEOUT_MS", str(session_seconds * 1000))
        # Several stacks are up at once, most of them idle: by default each keeps Connect busy.
        patch.setenv("CONNECTOR_POLL_MS", "100")
        stack = claim_stack(name, ports, anew=anew, extras=extras, **more)
        with stack.running():
            yield stack


@contextmanager
def running_broker(name: str, ports: int) -> Iterator[Stack]:
    """Run a broker with its topics, and nothing else: a whole stack costs twice as much to keep."""
    stack = claim_stack(name, ports, anew=True)
    broker = stack.part("kafka")
    stack.prepare([broker])
    try:
        stack.start_with_one_shots(broker)
        yield stack
    finally:
        stack.down()


def claim_stack(name: str, ports: int, *, anew: bool, **more: Any) -> Stack:
    """Return a stack in a folder and on ports of its own, without the data of the run before.

    That may have another schema, and Spark would compare it too.
    """
    settings = Settings(
        run_dir=ROOT / ".run" / name,
        jars_dir=ROOT / ".run" / "jars",
        postgres_port=ports + 32,
        kafka_port=ports + 92,
        kafka_controller_port=ports + 93,
        connect_port=ports + 72,
        audit_port=ports + 81,
        service_port=ports + 10,
        **more,
    )
    stack = Stack(settings)
    stack.claim()
    nothing_was_up = stack.supervisor.state().owner == stack.me
    if nothing_was_up and anew:
        stack.remove_data()
    return stack


@pytest.fixture(scope="session")
def clean_stack() -> Iterator[Stack]:
    """Have real Postgres, Kafka, Connect, audit receiver and service."""
    with running(RUN, PORTS) as stack:
        yield stack


@pytest.fixture(scope="session")
def spoiled_stack() -> Iterator[Stack]:
    """Have the same once more, for controls and planted defects."""
    stores = frozenset(manifests("dedup"))
    with running(f"{RUN}-spoiled", PORTS + 100, started=stores) as stack:
        yield stack


@pytest.fixture(scope="module")
def stack_of_one_file() -> Iterator[Stack]:
    """Have a stack of this file: a run judges all that is there, and in the others that is much."""
    with running(f"{RUN}-alone", PORTS + 200) as stack:
        yield stack


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Have one session for all tests, made as the jobs make it: a warm one is much faster."""

    def maven(_name: str, command: list[str]) -> None:
        subprocess.run(command, check=True, timeout=300)

    jars = fetch_jars(maven, ROOT / ".run" / "jars", ROOT / "spark" / "pom.xml", {})
    session = make_session("tests", jars)
    prepare_for(session, 0)  # as a run does that has found few rows
    yield session
    session.stop()


@pytest.fixture
def reconcile(spark: SparkSession) -> Callable[[], Result]:
    """Land what is there and reconcile the stack of this test, as `pipeline reconcile` does."""

    def run_once() -> Result:
        options = Options(land=True, ledger=None, deadline=time.monotonic() + 120)
        result = run(spark, SparkSettings(), load_parts(), options)
        spark.catalog.clearCache()
        return result

    return run_once


class JudgeSince(Protocol):
    """Land and reconcile from the last run on, unless everything is asked for."""

    def __call__(self, *, full: bool = False, **settings: Any) -> Result:
        """Return what the report says; settings are those of the run."""


@pytest.fixture
def delta_root(tmp_path: Path) -> Path:
    """A lake of this test's own."""
    return tmp_path / "delta"


@pytest.fixture
def judge_since(spark: SparkSession, delta_root: Path) -> JudgeSince:
    """Land and reconcile in a lake of the test's own, however few orders there are."""
    return judge_in(spark, delta_root)


@pytest.fixture(scope="session")
def common_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of the stack that must reconcile: what one test has landed, the next need not."""
    return tmp_path_factory.mktemp("common") / "delta"


@pytest.fixture
def judge_next(spark: SparkSession, common_lake: Path) -> JudgeSince:
    """Land and reconcile in the common lake what has come since the last test did."""
    return judge_in(spark, common_lake)


def judge_in(spark: SparkSession, delta_root: Path) -> JudgeSince:
    """Return what lands and reconciles in a lake.

    Extras keep their topics, so that all that the stack has published lands, and lose their hops:
    with these, everything is judged each time.
    """
    parts = [part._replace(hops=()) for part in load_parts()]

    def run_once(*, full: bool = False, **changes: Any) -> Result:
        lake = SparkSettings(delta_root=str(delta_root), reconcile_all_orders=0)
        settings = lake.model_copy(update=changes)
        options = Options(land=True, ledger=None, deadline=time.monotonic() + 120, full=full)
        result = run(spark, settings, parts, options)
        spark.catalog.clearCache()
        return result

    return run_once


@pytest.fixture
def stack(clean_stack: Stack, monkeypatch: pytest.MonkeyPatch) -> Stack:
    """The stack that must reconcile in the end, with its addresses in the environment."""
    return within(clean_stack, monkeypatch)


@pytest.fixture
def spoiled(spoiled_stack: Stack, monkeypatch: pytest.MonkeyPatch) -> Stack:
    """The stack that need not, with its addresses in the environment."""
    return within(spoiled_stack, monkeypatch)


@pytest.fixture
def engine(spoiled: Stack) -> Iterator[Engine]:
    """The service's own way to the database of the stack that need not reconcile."""
    env = spoiled.env()
    made = connect_to(env["DATABASE_URL"], Path(env["DATABASE_PASSWORD_FILE"]), 5)
    yield made
    made.dispose()


@pytest.fixture
def alone(stack_of_one_file: Stack, monkeypatch: pytest.MonkeyPatch) -> Stack:
    """The stack that need not either, and has nothing of other files."""
    return within(stack_of_one_file, monkeypatch)


def within(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> Stack:
    """The stack, where the tests' own clients find it."""
    for name, value in stack.settings.environment().items():
        monkeypatch.setenv(name, value)
    return stack
