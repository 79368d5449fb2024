"""What cannot work makes `up --wait` end with an error, soon, and with the cause in the log."""

import time
from collections.abc import Iterator

import pytest

from tests.compose.project import Project

SOON = 90  # seconds, from nothing to the answer


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    """Have a project that starts from nothing, and is gone afterwards."""
    monkeypatch.setenv("BREAK", "select 1")
    project = Project("tests/compose/broken.yaml")
    project.build()  # building is not starting
    yield project
    project.run("kill")  # nothing here deserves a farewell
    project.end()


@pytest.mark.parametrize(
    ("statement", "cause"),
    [
        ("alter role cdc password 'another'", 'password authentication failed for user "cdc"'),
        ("drop publication outbox", "there is no publication outbox in this database"),
        (
            "revoke connect on database fulfillment from cdc",
            'permission denied for database "fulfillment"',
        ),
        ("revoke update on heartbeat from cdc", "permission denied for table heartbeat"),
    ],
    ids=["password", "publication", "connect", "heartbeat"],
)
def test_a_connector_that_cannot_start_says_why(
    refused: Project, monkeypatch: pytest.MonkeyPatch, statement: str, cause: str
) -> None:
    """Within 90 s `up --wait` gives up, and the last line of the connector's log is the cause."""
    monkeypatch.setenv("BREAK", statement)
    began = time.monotonic()
    done = refused.run("up", "--wait")
    took = time.monotonic() - began
    assert done.returncode != 0
    assert cause in refused.good("logs", "--no-color", "connector").splitlines()[-1]
    assert took < SOON


def test_too_little_memory_is_one_sentence(
    refused: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing starts where the memory is too small, and one sentence says how much is missing."""
    monkeypatch.setenv("MEMORY_NEEDED_MIB", "99999999")
    assert refused.run("up", "--wait").returncode != 0
    [sentence] = refused.good("logs", "--no-color", "--no-log-prefix", "preflight").splitlines()
    assert "MiB of memory are free, 99999999 are needed" in sentence
    assert {
        name: one["State"]["Status"]
        for name, one in refused.containers().items()
        if name == "kafka-1"
    } == {"kafka-1": "created"}
