"""Topics of their own on a real broker."""

from collections.abc import Iterator

import pytest

from ops.stack.stack import Stack
from tests.spark.topics import Topics


@pytest.fixture
def kafka(spoiled: Stack) -> str:
    """A real broker."""
    return spoiled.env()["KAFKA_BOOTSTRAP_SERVERS"]


@pytest.fixture
def topics(kafka: str) -> Iterator[Topics]:
    """Two topics that nobody else knows, removed afterwards."""
    own = Topics.make(kafka)
    yield own
    own.remove()
