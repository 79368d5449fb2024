"""What the lab's integration tests share."""

from collections.abc import Iterator

import pytest

from lab.dedup_matrix.place import in_stack
from lab.dedup_matrix.stores import Place
from ops.stack.stack import Stack


@pytest.fixture(scope="module")
def place(spoiled_stack: Stack) -> Iterator[Place]:
    """The dedup stores in the databases of a stack whose data nobody needs."""
    with in_stack(spoiled_stack) as found:
        yield found
