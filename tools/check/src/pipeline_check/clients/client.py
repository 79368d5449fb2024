"""The clients that have rules, each with the settings that decide the verdict."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pipeline_check.clients import (
    aiokafka,
    connect,
    frameworks,
    franz_go,
    java,
    kafka_go,
    kafka_python,
    kafkajs,
    librdkafka,
    old_java,
    sarama,
    streams,
)
from pipeline_check.clients.outcome import Outcome

Version = tuple[int, ...]
IN_FLIGHT = "max.in.flight.requests.per.connection"


@dataclass(frozen=True)
class Client:
    """One client: its rules, and the ordinary values that an unseen setting may have."""

    name: str
    version: Version  # that is judged when nothing says which one it is
    judge: Callable[[Mapping[str, Any], Version], Outcome]
    deciding: dict[str, list[Any]]
    literal: bool = False  # whether "1" and 1 differ for it
    refuses_names: bool = False  # whether a name that it does not have keeps it from starting
    others: tuple[Version, ...] = ()  # versions that may decide otherwise
    open: bool = False  # whether they are in use so much that without a version nothing is sure


JAVA = {
    "enable.idempotence": ["true", "false"],
    "acks": ["all", "1"],
    "retries": ["3", "0"],
    IN_FLIGHT: ["5", "6"],
}
ONE_REQUEST = {IN_FLIGHT: ["1", "5"]}  # of those that are idempotent with one under way only
UNDERSCORES: dict[str, list[Any]] = {
    "enable_idempotence": [True, False],
    "acks": ["all", 1],
    "retries": [3, 0],
    "max_in_flight_requests_per_connection": [5, 6],
}
OLDER = ((2, 8, 2), (3, 1, 0), (3, 9, 2))
CLIENTS = {
    "librdkafka": Client(
        "librdkafka",
        (2, 16),
        librdkafka.producer,
        JAVA,
        refuses_names=True,
    ),
    "java": Client("java", java.NEWEST, java.producer, JAVA, others=OLDER, open=True),
    "spring": Client("java", java.NEWEST, java.producer, JAVA, others=OLDER, open=True),
    "micronaut": Client("java", java.NEWEST, java.producer, JAVA, others=OLDER, open=True),
    "smallrye": Client("java", java.NEWEST, frameworks.SMALLRYE, JAVA, others=OLDER, open=True),
    "spring-cloud-stream": Client(
        "java", java.NEWEST, frameworks.SPRING_CLOUD_STREAM, JAVA, others=OLDER, open=True
    ),
    "streams": Client(
        "java",
        java.NEWEST,
        streams.producer,
        JAVA | {streams.GUARANTEE: ["at_least_once", streams.EXACTLY_ONCE]},
        others=OLDER,
        open=True,
    ),
    "sarama": Client("sarama", (1, 61), sarama.producer, JAVA | ONE_REQUEST),
    "franz-go": Client("franz-go", (1, 22), franz_go.producer, JAVA | ONE_REQUEST),
    "kafka-go": Client("kafka-go", (0, 4), kafka_go.producer, {"acks": ["all", "1"]}),
    "kafkajs": Client("kafkajs", (2, 2), kafkajs.producer, JAVA),
    "old-java": Client("scala", (0, 8), old_java.producer, {}),
    "spark": Client("java", (3, 9, 2), java.producer, JAVA),
    "connect": Client(
        "connect",
        java.NEWEST,
        connect.producer,
        {
            "worker:producer.enable.idempotence": ["true", "false"],
            "worker:exactly.once.source.support": ["disabled", "enabled"],
            connect.POLICY: ["All", "None"],
            "producer.override.enable.idempotence": ["true", "false"],
            "producer.override.acks": ["all", "1"],
        },
    ),
    "kafka-python": Client(
        "kafka-python",
        kafka_python.NEWEST,
        kafka_python.producer,
        UNDERSCORES | {kafka_python.IN_FLIGHT: [1, 5, 6], kafka_python.BROKER: [None, (0, 10)]},
        literal=True,
        refuses_names=True,
        others=((2, 0, 2), (2, 3, 2)),
        open=True,
    ),
    "aiokafka": Client(
        "aiokafka",
        (0, 14, 0),
        lambda settings, _: aiokafka.producer(settings),
        {name: UNDERSCORES[name] for name in ("enable_idempotence", "acks")},
        literal=True,
        refuses_names=True,
    ),
}


class UnknownVersionError(Exception):
    """A version that cannot be judged."""


def parse_versions(texts: Iterable[str]) -> dict[str, Version]:
    """Return the versions that were named, by client, from texts such as java=3.1.0."""
    clients = sorted({client.name for client in CLIENTS.values()})
    found = {}
    for text in texts:
        client, _, version = text.partition("=")
        parts = version.split(".")
        is_number = all(part.isdecimal() for part in parts)
        if client not in clients or not is_number:
            way_out = f"say CLIENT=VERSION, such as java=3.1.0; clients: {', '.join(clients)}"
            raise UnknownVersionError(f"{text}: {way_out}")
        found[client] = tuple(map(int, parts))
    return found
