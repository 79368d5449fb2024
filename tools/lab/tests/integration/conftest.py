"""What the integration tests share: ways to real databases, and what works on them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from extras.aggregator.tests.batches import Aggregator, Log
from lab.dedup_matrix.place import in_stack
from lab.dedup_matrix.stores import Place
from ops.stack.stack import Stack
from service.database import connect_to
from tests.client import fresh


@pytest.fixture
def engine(spoiled: Stack) -> Iterator[Engine]:
    """The service's own way to its database."""
    env = spoiled.env()
    made = connect_to(env["DATABASE_URL"], Path(env["DATABASE_PASSWORD_FILE"]), 5)
    yield made
    made.dispose()


@pytest.fixture(scope="module")
def place(spoiled_stack: Stack) -> Iterator[Place]:
    """The dedup stores in the databases of a stack whose data nobody needs."""
    with in_stack(spoiled_stack) as found:
        yield found


@pytest.fixture
def aggregator(engine: Engine) -> Aggregator:
    """One instance, on a topic of its own."""
    return Aggregator(engine, Log(fresh("batch")))
