"""Topics of their own on a real broker, which has nothing beside it."""

from collections.abc import Iterator

import pytest

from ops.stack.stack import Stack
from tests.spark.topics import Topics
from tests.stacks import PORTS, RUN, running_broker, within


@pytest.fixture(scope="package")
def broker_stack() -> Iterator[Stack]:
    """Have this broker for the tests of this folder."""
    with running_broker(f"{RUN}-broker", PORTS + 150) as stack:
        yield stack


@pytest.fixture
def kafka(broker_stack: Stack, monkeypatch: pytest.MonkeyPatch) -> str:
    """A real broker, where jobs that a test starts find it, too."""
    return within(broker_stack, monkeypatch).settings.bootstrap_servers


@pytest.fixture
def topics(kafka: str) -> Iterator[Topics]:
    """Two topics that nobody else knows, removed afterwards."""
    own = Topics.make(kafka)
    yield own
    own.remove()
