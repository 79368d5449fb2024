"""The rules for kafka-python and aiokafka say what these do: producers are really made."""

import asyncio
import warnings
from collections.abc import Mapping
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from kafka import KafkaProducer

from pipeline_check.clients import aiokafka, kafka_python
from pipeline_check.clients.outcome import Outcome
from tests.clients.conftest import Tell
from tests.clients.generated import SEED, configurations

CHOICES: Mapping[str, list[Any]] = {
    "enable_idempotence": [True, True, False],
    "acks": ["all", -1, 0, 1, 2, "1", None],
    "transactional_id": ["t", None, ""],
    "compression_type": ["gzip", None, "best"],
    "linger_ms": [0, 5, 100_000],
    "request_timeout_ms": [30_000, 120_000],
    "max_request_size": [1000],
    "transaction_timeout_ms": [1000],
    "enable_idempotance": [True],
}
KAFKA_PYTHON = {
    **CHOICES,
    "retries": [0, 1, 5],
    "max_in_flight_requests_per_connection": [1, 5, 6],
    "delivery_timeout_ms": [30_000, 120_000],
    "api_version": [(2, 6), (0, 11), (0, 10, 2), "0.10", "3.0"],
}
WELCOME: Mapping[str, list[Any]] = {
    "enable_idempotence": [True, False],
    "acks": ["all", -1, 0, 1],
    "transactional_id": ["t", None],
    "linger_ms": [0, 5],
    "request_timeout_ms": [20_000],
}
REFUSED = (
    ValueError,
    TypeError,
)  # what both raise for settings; kafka-python's own error is a ValueError, too


def kafka_python_really(settings: dict[str, Any]) -> dict[str, str] | str:
    """Return what a producer of kafka-python has, or why there is none; it connects nowhere."""
    try:
        told = {"bootstrap_servers": "localhost:1", "api_version": (2, 6)} | settings
        producer = KafkaProducer(**told)
    except Exception as refused:  # noqa: BLE001 - whatever it raises, it does not start
        return f"{type(refused).__name__}: {refused}"
    try:
        found = {name: str(producer.config[name]) for name in kafka_python.DEFAULTS}
        return found | {"enable_idempotence": str(producer._transaction_manager is not None)}
    finally:
        producer.close(timeout=0)


def aiokafka_really(settings: dict[str, Any]) -> dict[str, str] | str:
    """What a producer of aiokafka has, or why there is none; it is never started."""

    async def made() -> dict[str, str]:
        producer = AIOKafkaProducer(**settings)
        producer._closed = True  # nothing was opened
        idempotent = producer._txn_manager is not None
        return {"enable_idempotence": str(idempotent), "acks": str(producer._sender._acks)}

    try:
        with warnings.catch_warnings(action="ignore"):
            return asyncio.run(made())
    except REFUSED as refused:
        return f"{type(refused).__name__}: {refused}"


def as_told(real: dict[str, str]) -> dict[str, str]:
    """With acks as people say it, and without what is not set."""
    acks = {"acks": "all"} if real["acks"] == "-1" else {}
    return {name: value for name, value in (real | acks).items() if value != "None"}


CLIENTS = {
    "kafka-python": (kafka_python.producer, kafka_python_really),
    "aiokafka": (aiokafka.producer, aiokafka_really),
}
GENERATED = {
    "kafka-python": configurations(400, KAFKA_PYTHON)
    + configurations(300, {**WELCOME, "retries": [0, 3]}, SEED + 1),
    "aiokafka": configurations(400, CHOICES) + configurations(300, WELCOME, SEED + 1),
}


def differ(said: Outcome, real: dict[str, str] | str) -> bool:
    """Whether the rules and the client say different things."""
    if isinstance(real, str) or said.refusals:
        return not isinstance(real, str) or said.verdict != "refused"
    shown = as_told(real)
    return {name: said.effective.get(name) for name in shown} != shown


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("client", sorted(CLIENTS))
def test_the_rules_agree_with_the_client(client: str, told: Tell) -> None:
    """Verdicts and effective values of 700 configurations, no disagreement."""
    judge, really = CLIENTS[client]
    pairs = [(settings, judge(settings), really(settings)) for settings in GENERATED[client]]
    wrong = [
        f"{settings}: the rules say {said}, really {real}"
        for settings, said, real in pairs
        if differ(said, real)
    ]
    verdicts = [said.verdict for _, said, _ in pairs]
    counts = {verdict: verdicts.count(verdict) for verdict in sorted(set(verdicts))}
    told(f"seed {SEED}: {len(verdicts)} configurations on {client}, {counts}")
    assert wrong == [], f"seed {SEED}: {len(wrong)} disagreements, the first: {wrong[:3]}"
    assert min(counts.values()) > 50, f"the choices leave a verdict almost untried: {counts}"


@pytest.mark.filterwarnings("ignore")
def test_the_rules_of_another_client_disagree() -> None:
    """The control: kafka-python's rules, held against aiokafka, are found wrong many times."""
    several = GENERATED["aiokafka"][::5]
    wrong = [each for each in several if differ(kafka_python.producer(each), aiokafka_really(each))]
    assert len(wrong) > 20


# As read in the wheels of these versions, and tried on each with 700 configurations.
OLD, ASKED, NEW = (2, 0, 2), (2, 3, 2), (3, 0, 12)
ON: dict[str, Any] = {"enable_idempotence": True}
IN_FLIGHT = kafka_python.IN_FLIGHT


@pytest.mark.parametrize(
    ("settings", "version", "verdict"),
    [
        ({}, OLD, "not_idempotent"),
        ({}, (2, 1, 6), "not_idempotent"),
        ({}, ASKED, "not_idempotent"),
        ({}, NEW, "idempotent"),
        ({"acks": "all"}, ASKED, "not_idempotent"),
        ({"api_version": (0, 10, 2)}, NEW, "not_idempotent"),
        ({"api_version": "0.10", **ON}, NEW, "refused"),
        ({"api_version": (0, 10), **ON}, ASKED, "refused"),
        ({"api_version": (0, 11), **ON}, NEW, "idempotent"),
        ({"api_version": "auto"}, NEW, "idempotent"),
        (ON, OLD, "refused"),
        (ON, (2, 2), "idempotent"),
        (ON, ASKED, "idempotent"),
        ({"transactional_id": "t"}, OLD, "refused"),
        ({"transactional_id": "t"}, ASKED, "idempotent"),
        (ON | {"acks": 1}, ASKED, "refused"),
        (ON | {"retries": 0}, ASKED, "refused"),
        (ON | {IN_FLIGHT: 5}, ASKED, "refused"),
        (ON | {IN_FLIGHT: 5}, NEW, "idempotent"),
        ({"buffer_memory": 1}, OLD, "not_idempotent"),
        ({"buffer_memory": 1}, NEW, "refused"),
    ],
)
def test_older_versions_of_kafka_python_decide_otherwise(
    settings: dict[str, Any], version: tuple[int, ...], verdict: str
) -> None:
    """Before 2.2 nothing is idempotent, before 3 only what asks for it and has no conflict."""
    assert kafka_python.producer(settings, version).verdict == verdict


def test_a_refusal_of_an_older_version_names_what_helps_there() -> None:
    """What is right for version 3 would be refused once more."""
    [no_name] = kafka_python.producer(ON, OLD).refusals
    assert no_name.way_out == kafka_python.UPGRADE
    [in_flight] = kafka_python.producer(ON | {IN_FLIGHT: 5}, ASKED).refusals
    assert in_flight.good == "1"
