"""One Spark session for all tests, and topics of their own on a real broker."""

import gc
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ops.settings import ROOT
from ops.stack.jars import fetch_jars
from spark.session import make_session
from tests.spark.topics import Topics

# py4j gives each thread a socket and leaves it to the garbage collector when the thread ends.
PY4J = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let py4j's sockets pass, in the tests of this folder only."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(PY4J)


@pytest.fixture(autouse=True)
def _collect_sockets() -> Iterator[None]:
    """Collect them while they may pass."""
    yield
    gc.collect()


def run_maven(_name: str, command: list[str]) -> None:
    """Fetch the jars, where no stack has fetched them yet."""
    subprocess.run(command, check=True, timeout=300)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session as the jobs make it on one machine."""
    jars = fetch_jars(run_maven, ROOT / ".run" / "jars", ROOT / "spark" / "pom.xml", {})
    session = make_session("tests", jars)
    yield session
    session.stop()


@pytest.fixture
def kafka(request: pytest.FixtureRequest) -> str:
    """A real broker: the one that the environment names, or else that of the tests' own stack."""
    if "KAFKA_BOOTSTRAP_SERVERS" not in os.environ:
        request.getfixturevalue("stack")
    return os.environ["KAFKA_BOOTSTRAP_SERVERS"]


@pytest.fixture
def topics(kafka: str) -> Iterator[Topics]:
    """Two topics that nobody else knows, removed afterwards."""
    own = Topics.make(kafka)
    yield own
    own.remove()
