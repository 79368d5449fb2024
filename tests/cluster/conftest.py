"""A stack with three brokers, two Connect workers and three services, secured, for this folder."""

from collections.abc import Iterator
from typing import Any

import pytest

from ops.security import Security
from ops.stack.stack import Stack
from tests.stacks import PORTS, RUN, running, within


@pytest.fixture(scope="package")
def cluster_stack() -> Iterator[Stack]:
    """Have it once for all tests."""
    name, ports = f"{RUN}-cluster", PORTS + 200
    sizes: dict[str, Any] = {"brokers": 3, "workers": 2, "services": 3}
    # As it comes: a session must outlast a dead coordinator, which is missed after 4 s.
    with running(name, ports, session_seconds=10, secure=True, **sizes) as stack:
        yield stack


@pytest.fixture
def stack(cluster_stack: Stack, monkeypatch: pytest.MonkeyPatch) -> Stack:
    """The same, where the tests' own clients find it."""
    return within(cluster_stack, monkeypatch)


@pytest.fixture
def security(stack: Stack) -> Security:
    """Its files."""
    assert stack.settings.security is not None
    return stack.settings.security
