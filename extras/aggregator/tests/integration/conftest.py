"""What the aggregator's integration tests share."""

import pytest
from sqlalchemy import Engine

from extras.aggregator.tests.batches import Aggregator, Log
from tests.client import fresh


@pytest.fixture
def aggregator(engine: Engine) -> Aggregator:
    """One instance, on a topic of its own."""
    return Aggregator(engine, Log(fresh("batch")))
