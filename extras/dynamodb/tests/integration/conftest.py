"""DynamoDB Local and nothing else, for the tests of the outbox that need no broker."""

from collections.abc import Iterator

import pytest

from extras.dynamodb.tests.controlled import Controlled, controlled
from extras.dynamodb.tests.tallies import Tables


@pytest.fixture(scope="module")
def dynamodb() -> Iterator[Controlled]:
    """Have it for the tests of one file."""
    with controlled() as found:
        yield found


@pytest.fixture
def tables(dynamodb: Controlled) -> Iterator[Tables]:
    """Have tables of this test's own, and only as long as it runs."""
    found = Tables(dynamodb.url)
    yield found
    found.drop()
