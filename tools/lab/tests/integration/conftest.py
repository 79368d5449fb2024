"""What the lab's integration tests share: the dedup stores on real servers."""

from collections.abc import Iterator

import pytest

from lab.dedup_matrix.candidate import Backends
from lab.dedup_matrix.environment import backends_of
from ops.stack.stack import Stack


@pytest.fixture(scope="module")
def backends(spoiled_stack: Stack) -> Iterator[Backends]:
    """The dedup stores in the databases of a stack whose data nobody needs."""
    with backends_of(spoiled_stack) as found:
        yield found
