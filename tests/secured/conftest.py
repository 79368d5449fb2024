"""A stack that encrypts everything and asks everybody who they are, for this folder."""

from collections.abc import Iterator

import pytest

from ops.security import Security
from ops.stack.stack import Stack
from tests.stacks import PORTS, RUN, running, within


@pytest.fixture(scope="package")
def secured_stack() -> Iterator[Stack]:
    """Have real parts, secured."""
    with running(f"{RUN}-secured", PORTS + 200, secure=True) as stack:
        yield stack


@pytest.fixture
def stack(secured_stack: Stack, monkeypatch: pytest.MonkeyPatch) -> Stack:
    """The secured stack, where the tests' own clients find it; they are somebody, too."""
    return within(secured_stack, monkeypatch)


@pytest.fixture
def security(stack: Stack) -> Security:
    """Its files."""
    assert stack.settings.security is not None
    return stack.settings.security
