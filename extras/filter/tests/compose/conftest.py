"""The containers of the pipeline, with the filter on top."""

from collections.abc import Iterator

import pytest

from tests.compose.conftest import PORTS, _project
from tests.compose.project import Project

__all__ = ["_project"]


@pytest.fixture(scope="module")
def project() -> Iterator[Project]:
    """Have everything up, the filter too, for the tests of one file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FILTER_PORT", f"{PORTS + 30}")
        with Project("extras/filter/compose.yaml").running() as project:
            yield project
