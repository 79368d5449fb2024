"""The containers of the pipeline, with the aggregator on top."""

from collections.abc import Iterator

import pytest

from tests.compose.conftest import PORTS, _project
from tests.compose.project import Project

__all__ = ["_project"]


@pytest.fixture(scope="module")
def project() -> Iterator[Project]:
    """Have everything up, the aggregator too, for the tests of one file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGGREGATOR_PORTS", f"{PORTS + 20}-{PORTS + 29}")
        with Project("extras/aggregator/compose.yaml").running() as project:
            yield project
