"""Connect as its REST API shows it: plugins, connectors with their states, and what its workers let pass."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import requests

from pipeline_check.connector.outbox import POSTGRES
from pipeline_check.live.unseen import not_looked_at
from pipeline_check.reading.block import Block, Setting
from pipeline_check.rules.catalog import make_finding as finding
from pipeline_check.rules.finding import Finding, Severity

TIMEOUT = 10
CONVERTERS = ("key.converter", "value.converter", "header.converter")
SAFE = (
    3,
    7,
)  # the first Debezium that loses no rows when it restarts between interleaved transactions
ERROR = Severity.ERROR


@dataclass(frozen=True)
class Cluster:
    """What was asked."""

    plugins: Mapping[str, str] = field(default_factory=dict)  # class -> version
    connectors: Mapping[str, Block] = field(default_factory=dict)
    states: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    worker: Block | None = None
    lets_override: bool = False


def read(url: str) -> Cluster:
    """Everything that the rules look at; nothing is changed by asking."""
    plugins = {
        one["class"]: one.get("version", "") for one in ask("GET", f"{url}/connector-plugins")
    }
    found = ask("GET", f"{url}/connectors?expand=info&expand=status")
    blocks = {name: block(name, about["info"]["config"]) for name, about in found.items()}
    states = {name: about["status"] for name, about in found.items()}
    if POSTGRES not in plugins:
        return Cluster(plugins, blocks, states)
    # Validation tells two things of the worker that nothing else does: its converters, which are the defaults
    # here, and whether a connector may change the producer.
    asked = {"connector.class": POSTGRES, "name": "check", "producer.override.acks": "all"}
    told = ask("PUT", f"{url}/connector-plugins/PostgresConnector/config/validate", asked)[
        "configs"
    ]
    default = {one["definition"]["name"]: one["definition"]["default_value"] for one in told}
    errors = {one["value"]["name"]: one["value"]["errors"] for one in told}
    known = {key: Setting(default[key], 0) for key in CONVERTERS if default.get(key)}
    worker = Block(
        "connect", 0, "worker", "connect", settings=known, opaque="the worker's own file"
    )
    return Cluster(plugins, blocks, states, worker, not errors.get("producer.override.acks"))


def block(name: str, config: Mapping[str, str]) -> Block:
    """A running connector, in the words of the linter."""
    settings = {
        key: Setting(value, 0, known="${dir:" not in value) for key, value in config.items()
    }
    return Block(f"connect/{name}", 0, "connector", "connect", name, settings)


def ask(method: str, url: str, body: object = None) -> Any:
    """One answer; requests.RequestException if there is none."""
    answer = requests.request(method, url, json=body, timeout=TIMEOUT)
    answer.raise_for_status()
    return answer.json()


def workers(cluster: Cluster) -> Iterator[Finding]:
    """The plugin is there and loses nothing, and nobody but the worker decides how it produces."""
    version = cluster.plugins.get(POSTGRES)
    numbers = tuple(int(part) for part in (version or "").split(".")[:2] if part.isdigit())
    if version is None:
        message, fix = (
            f"{POSTGRES} is not on plugin.path",
            "put Debezium's folder on plugin.path, and restart the worker",
        )
        yield Finding("plugin-missing", ERROR, "connect", 0, message, fix)
    elif numbers and numbers < SAFE:
        message = f"Debezium {version} loses rows when it restarts between interleaved transactions"
        yield Finding(
            "debezium-loses-rows", ERROR, "connect", 0, message, "Debezium 3.7.0 or newer"
        )
    if cluster.lets_override:
        name = "connector.client.config.override.policy"
        yield finding("connect-overrides-open", "connect", 0, f"{name} allows it", f"{name}=None")
    what = "producer.enable.idempotence of the worker, which no REST answer tells, but every record batch does"
    yield not_looked_at(
        "connect", what, "pipeline check --prove --bootstrap $KAFKA_BOOTSTRAP_SERVERS"
    )
