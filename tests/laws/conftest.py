"""The server of the laws, and an empty world for each story."""

from collections.abc import Iterator
from functools import partial

import pytest
from structlog.testing import capture_logs

from service.write import RULE
from tests.laws.server import Server, running
from tests.laws.world import Begin, begin_world


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """Have PostgreSQL with the tables of this house."""
    with running() as server:
        yield server


@pytest.fixture
def begin(server: Server) -> Begin:
    """Return what begins an empty world with the rule of this house."""
    return partial(begin_world, server, RULE)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Keep the service's log out of what a failure shows."""
    with capture_logs():
        yield
