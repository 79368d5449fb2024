"""The filter on containers, killed in the middle of its data."""

import os
from collections import Counter

import requests

from extras.filter.settings import Settings
from extras.filter.tests.data import numbers
from ops.topic import read
from tests.client import Sent, send, until
from tests.compose.project import Project

SETTINGS = Settings()
FIRST_SENT = 2_000  # of the 4,858 records


def test_killed_in_the_middle_each_number_passes_once(project: Project) -> None:
    """Killed (-9) and started again by `up --wait`: 4,858 in, 3,500 out, and the marks are told."""
    records = [Sent(None, key, str(number).encode()) for key, number in numbers()]
    send(records[:FIRST_SENT], SETTINGS.filter_input_topic)
    until(passed, bool, 60, "nothing has passed the filter")
    project.good("kill", "--signal", "SIGKILL", "filter")
    assert project.containers()["filter-1"]["State"]["ExitCode"] == 137
    send(records[FIRST_SENT:], SETTINGS.filter_input_topic)
    project.good("up", "--wait")
    found = until(passed, lambda now: len(now) >= 3500, 60, "not every number has passed")
    assert found == Counter(range(1, 3501))
    address = project.good("port", "filter", "8084").strip()
    marks = [requests.get(f"http://{address}/marks/{n}", timeout=10).json() for n in range(3)]
    assert max(mark["number"] for mark in marks) == 3500


def passed() -> Counter[int]:
    """Return how often each number is on the topic behind the filter."""
    servers = os.environ["KAFKA_BOOTSTRAP_SERVERS"]
    return Counter(
        int(record.value() or b"0") for record in read(servers, SETTINGS.filter_output_topic)
    )
