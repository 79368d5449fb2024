"""A fix is applied to its own case, and what comes out is judged."""

from dataclasses import replace
from typing import Any

import pytest

from pipeline_check.clients.client import CLIENTS, Client
from pipeline_check.clients.outcome import Outcome
from pipeline_check.rules.fixes import IDEMPOTENT
from pipeline_check.rules.producer_findings import as_client_has, idempotent_settings

JAVA = CLIENTS["java"]
LIBRDKAFKA = CLIENTS["librdkafka"]
NEW = CLIENTS["kafka-python"]
WHEN_ASKED = replace(NEW, version=(2, 3, 2))
AIOKAFKA = CLIENTS["aiokafka"]
IN_FLIGHT = "max.in.flight.requests.per.connection"
CASES: list[tuple[Client, dict[str, Any]]] = [
    (JAVA, {"acks": "1"}),
    (JAVA, {"acks": "all", "retries": "0"}),
    (JAVA, {"retries": "0", "acks": "1", IN_FLIGHT: "9"}),
    (JAVA, {"enable.idempotence": "false", IN_FLIGHT: "6"}),
    (LIBRDKAFKA, {"acks": "1", "retries": "0"}),
    (LIBRDKAFKA, {IN_FLIGHT: "9"}),
    (NEW, {"acks": 1, "retries": 0}),
    (WHEN_ASKED, {"acks": 1}),
    (WHEN_ASKED, {"max_in_flight_requests_per_connection": 5, "retries": 0}),
    (AIOKAFKA, {"acks": 1}),
]


def judge_fixed(client: Client, asked: dict[str, Any], fix: dict[str, str]) -> Outcome:
    """Return what a client makes of the settings with a fix applied."""
    return client.judge({**asked, **as_client_has(fix, client)}, client.version)


@pytest.mark.parametrize(("client", "asked"), CASES)
def test_the_fix_of_a_producer_makes_it_idempotent(client: Client, asked: dict[str, Any]) -> None:
    """A producer that is not idempotent starts and is, with the fix of its finding."""
    fixed = judge_fixed(client, asked, idempotent_settings(client, asked))
    assert not fixed.refusals
    assert fixed.idempotent


@pytest.mark.parametrize(
    ("client", "asked"),
    [
        (JAVA, {"acks": "all", "retries": "0"}),
        (WHEN_ASKED, {"max_in_flight_requests_per_connection": 5}),
    ],
)
def test_control_the_switch_alone_is_refused(client: Client, asked: dict[str, Any]) -> None:
    """Without a value for what conflicts, the same fix makes a producer that does not start."""
    assert judge_fixed(client, asked, IDEMPOTENT).refusals
