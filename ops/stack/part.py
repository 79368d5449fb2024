"""What the stack knows of each of its parts: how it starts, when it is ready, how it stops."""

import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import requests

from extras.dynamodb import local as dynamodb
from ops.settings import HOST, ROOT, Settings
from ops.stack import broker, database, dedup_tables
from ops.stack.jars import Run


@dataclass(frozen=True)
class Part:
    """One process; `ports` by the names of their settings, `ready` says nothing or what is still missing."""

    name: str
    argv: list[str]
    ports: dict[str, int]
    ready: Callable[[], str]
    env: dict[str, str] = field(default_factory=dict)
    prepare: Callable[[Run], None] = lambda _run: None
    then: dict[str, list[str]] = field(default_factory=dict)  # one-shots, once it is ready
    stop_signal: signal.Signals = signal.SIGTERM


def parts(settings: Settings) -> list[Part]:
    """All of them, in the order in which they start."""
    services = [service(settings, number) for number in range(1, settings.services + 1)]
    asked = [(settings.aggregator, aggregator), (settings.land, land)]
    further = [make(settings) for wanted, make in asked if wanted]
    beside = [key_value(settings)] if settings.with_dynamodb else []
    return [
        postgres(settings),
        *beside,
        kafka(settings),
        connect(settings),
        audit(settings),
        *services,
        *further,
    ]


def poms(settings: Settings) -> dict[Path, dict[str, str]]:
    """Whose jars they need; a profile of a pom has a folder of its own."""
    beside: dict[Path, dict[str, str]] = {dynamodb.POM: {}} if settings.with_dynamodb else {}
    return {broker.POM: broker.PLACES, ROOT / "spark" / "pom.xml": {}} | beside


def postgres(settings: Settings) -> Part:
    """PostgreSQL, whose fast stop is SIGINT (SIGQUIT is `-m immediate`); then roles, tables and slots."""
    return Part(
        name="postgres",
        argv=database.command(settings),
        ports={"POSTGRES_PORT": settings.postgres_port},
        ready=partial(database.ready, settings),
        prepare=partial(database.prepare, settings),
        then={"migrations": [sys.executable, "-m", "migrations", "upgrade"]},
        stop_signal=signal.SIGINT,
    )


def key_value(settings: Settings) -> Part:
    """DynamoDB Local; then the table of the dedup store."""
    return Part(
        name="dynamodb",
        argv=dynamodb.command(settings),
        ports={"DYNAMODB_PORT": settings.dynamodb_port},
        ready=partial(dynamodb.ready, settings),
        prepare=partial(dynamodb.prepare, settings),
        then={"dynamodb-table": [sys.executable, "-m", "extras.dynamodb.store"]},
    )


def kafka(settings: Settings) -> Part:
    """The broker, which is its own controller; then every topic."""
    return Part(
        name="kafka",
        argv=broker.command(settings),
        ports={
            "KAFKA_PORT": settings.kafka_port,
            "KAFKA_CONTROLLER_PORT": settings.kafka_controller_port,
        },
        ready=partial(broker.ready, settings),
        prepare=partial(broker.prepare, settings),
        then={"topics": [sys.executable, "-m", "connect", "topics"]},
    )


def connect(settings: Settings) -> Part:
    """The Connect worker; then the connectors."""
    return Part(
        name="connect",
        argv=broker.connect_command(settings),
        ports={"CONNECT_PORT": settings.connect_port},
        ready=partial(answers, f"http://{HOST}:{settings.connect_port}/health"),
        prepare=partial(broker.prepare_connect, settings),
        then={"connectors": [sys.executable, "-m", "connect", "register"]},
    )


def audit(settings: Settings) -> Part:
    """The audit receiver."""
    return Part(
        name="audit",
        argv=[sys.executable, "-m", "service.audit"],
        ports={"AUDIT_PORT": settings.audit_port},
        ready=partial(answers, f"http://{HOST}:{settings.audit_port}/readyz"),
        env={"AUDIT_HOST": HOST, "AUDIT_PORT": str(settings.audit_port)},
    )


def service(settings: Settings, number: int) -> Part:
    """One of the service processes: `service`, `service-2`, `service-3`; before it, its dedup store's tables."""
    port = settings.service_port + 10 * (number - 1)
    return Part(
        name="service" if number == 1 else f"service-{number}",
        argv=[sys.executable, "-m", "service"],
        ports={"SERVICE_PORT": port},
        ready=partial(answers, f"http://{HOST}:{port}/readyz"),
        prepare=partial(dedup_tables.prepare, settings),
        env={"SERVICE_HOST": HOST, "SERVICE_PORT": str(port)},
    )


def aggregator(settings: Settings) -> Part:
    """The second subscriber, which sums batches."""
    port = settings.aggregator_port
    return Part(
        name="aggregator",
        argv=[sys.executable, "-m", "extras.aggregator"],
        ports={"AGGREGATOR_PORT": port},
        ready=partial(answers, f"http://{HOST}:{port}/readyz"),
        env={"AGGREGATOR_HOST": HOST, "AGGREGATOR_PORT": str(port)},
    )


def land(settings: Settings) -> Part:
    """The landing that goes on and on; ready when its query has its checkpoint."""
    checkpoint = Path(settings.environment()["DELTA_ROOT"], "checkpoint", "metadata")
    return Part(
        name="land",
        argv=[sys.executable, "-m", "spark.land"],
        ports={},
        ready=lambda: "" if checkpoint.exists() else f"there is no {checkpoint}",
    )


def answers(url: str) -> str:
    """Nothing when it answers 200, else what came instead."""
    try:
        status = requests.get(url, timeout=2).status_code
    except requests.RequestException as failure:
        return f"{url}: {type(failure).__name__}"
    return "" if status == requests.codes.ok else f"{url} answers {status}"
