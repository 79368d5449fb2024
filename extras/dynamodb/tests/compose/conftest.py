"""The broker, DynamoDB Local, two services and a relay on containers: no Postgres among them."""

from collections.abc import Iterator

import pytest

from extras.dynamodb.tests.controlled import AWS
from tests.compose.conftest import PORTS, _project
from tests.compose.project import Project

__all__ = ["_project"]

PARTS = ("tally", "relay")


@pytest.fixture(scope="module")
def project() -> Iterator[Project]:
    """Have these parts and what they wait for, for the tests of one file."""
    with pytest.MonkeyPatch.context() as patch:
        for name, text in AWS.items():
            patch.setenv(name, text)
        patch.setenv("DYNAMODB_PORT", f"{PORTS + 40}")
        patch.setenv("TALLY_PORTS", f"{PORTS + 41}-{PORTS + 49}")
        patch.setenv("RELAY_PORT", f"{PORTS + 50}")
        project = Project("extras/dynamodb/compose.yaml")
        project.good("build", "dynamodb-local", "tally-tables", *PARTS)
        try:
            project.good("up", "--wait", *PARTS)
            yield project
        finally:
            project.end()
