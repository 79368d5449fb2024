"""What the tests of the aggregator share: one instance on real Postgres."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from ops.stack.stack import Stack
from service.database import connect_to
from tests.batches import Aggregator, Log
from tests.client import fresh


@pytest.fixture
def engine(spoiled: Stack) -> Iterator[Engine]:
    """The aggregator's own way to its database."""
    env = spoiled.env()
    made = connect_to(env["DATABASE_URL"], Path(env["DATABASE_PASSWORD_FILE"]), 5)
    yield made
    made.dispose()


@pytest.fixture
def aggregator(engine: Engine) -> Aggregator:
    """One instance, on a topic of its own."""
    return Aggregator(engine, Log(fresh("batch")))
