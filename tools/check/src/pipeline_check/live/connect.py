"""Connect as its REST API shows it: plugins, workers, and connectors with their states."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests

from pipeline_check.connector.outbox import POSTGRES, Outbox
from pipeline_check.live.positions import (
    CURL,
    Position,
    find_position,
    forget_offset,
    how_to_resend,
)
from pipeline_check.live.unseen import not_looked_at
from pipeline_check.reading.block import Block, Setting
from pipeline_check.rules.catalog import make_finding
from pipeline_check.rules.finding import Finding, Severity

TIMEOUT = 10  # seconds
OFFSETS_TIMEOUT = 3
CLASS = "connector.class"
CONVERTERS = ("key.converter", "value.converter", "header.converter")
# The first Debezium that loses no rows when it restarts between interleaved transactions.
SAFE_DEBEZIUM = (3, 7)
ERROR = Severity.ERROR
WARNING = Severity.WARNING
OFFSET_GONE = "no longer available on the server"  # Debezium, of a slot that was made again
LONGEST_CAUSE = 300  # characters


@dataclass(frozen=True)
class Cluster:
    """What Connect answered."""

    plugins: Mapping[str, str] = field(default_factory=dict)  # class -> version
    connectors: Mapping[str, Block] = field(default_factory=dict)
    states: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    positions: Mapping[str, Position] = field(default_factory=dict)  # of those that have one
    worker: Block | None = None
    lets_override: bool = False


def read_cluster(session: requests.Session, url: str) -> Cluster:
    """Return everything that the rules look at; asking changes nothing."""
    plugins = {}
    for plugin in ask(session, "GET", f"{url}/connector-plugins"):
        plugins[plugin["class"]] = plugin.get("version", "")
    found = ask(session, "GET", f"{url}/connectors?expand=info&expand=status")
    blocks = {name: connector_block(name, each["info"]["config"]) for name, each in found.items()}
    states = {name: each["status"] for name, each in found.items()}
    if POSTGRES not in plugins:
        return Cluster(plugins, blocks, states)
    positions = {}
    of_postgres = [name for name, block in blocks.items() if block.known(CLASS) == POSTGRES]
    for name in of_postgres:
        position = read_position(session, url, name)
        if position:
            positions[name] = position
    worker, lets_override = validate(session, url)
    return Cluster(plugins, blocks, states, positions, worker, lets_override)


def read_position(session: requests.Session, url: str, name: str) -> Position | None:
    """Return how far a connector has come, if Connect says it.

    Before version 3.5 it does not, and without its offsets topic it does not answer in time.
    """
    try:
        answer = session.get(f"{url}/connectors/{name}/offsets", timeout=OFFSETS_TIMEOUT)
    except requests.Timeout:
        return None
    return find_position(answer.json()) if answer.ok else None


def validate(session: requests.Session, url: str) -> tuple[Block, bool]:
    """Return the worker's converters, and whether a connector may change its producer.

    Only the validation of a connector tells these two things: the converters are its defaults.
    """
    config = {
        CLASS: POSTGRES,
        "name": "check",
        "producer.override.acks": "all",
    }
    path = "connector-plugins/PostgresConnector/config/validate"
    answer = ask(session, "PUT", f"{url}/{path}", config)
    settings = {}
    lets_override = True
    for each in answer["configs"]:
        name = each["definition"]["name"]
        default = each["definition"]["default_value"]
        if name in CONVERTERS and default:
            settings[name] = Setting(default, 0)
        if each["value"]["name"] == "producer.override.acks" and each["value"]["errors"]:
            lets_override = False
    opaque = "the worker's own file"
    worker = Block("connect", 0, "worker", "connect", settings=settings, opaque=opaque)
    return worker, lets_override


def connector_block(name: str, config: Mapping[str, str]) -> Block:
    """Return a running connector in the words of the rules."""
    settings = {}
    for key, value in config.items():
        settings[key] = Setting(value, 0, known="${dir:" not in value)
    return Block(f"connect/{name}", 0, "connector", "connect", name, settings)


def ask(session: requests.Session, method: str, url: str, body: object = None) -> Any:
    """Return one answer; requests.RequestException if there is none."""
    answer = session.request(method, url, json=body, timeout=TIMEOUT)
    answer.raise_for_status()
    return answer.json()


def check_connect(cluster: Cluster, outboxes: Iterable[Outbox]) -> Iterator[Finding]:
    """Check the workers, and each outbox connector."""
    yield from check_workers(cluster)
    for outbox in outboxes:
        if outbox.block.name in cluster.states:
            yield from check_running(cluster, outbox.block.name)
        else:
            yield missing_connector(outbox.block)


def check_workers(cluster: Cluster) -> Iterator[Finding]:
    """Check that the plugin is there and loses nothing, and who decides how it produces."""
    version = cluster.plugins.get(POSTGRES)
    if version is None:
        message = f"{POSTGRES} is not on plugin.path"
        fix = "put Debezium's folder on plugin.path, and restart the worker"
        yield Finding("plugin-missing", ERROR, "connect", 0, message, fix)
    else:
        yield from check_debezium(version)
    if cluster.lets_override:
        name = "connector.client.config.override.policy"
        says = f"{name} allows it"
        yield make_finding("connect-overrides-open", "connect", 0, says, f"{name}=None")
    yield not_looked_at(
        "connect",
        "producer.enable.idempotence of the worker, which no REST answer tells, but every record "
        "batch does",
        "pipeline prove --bootstrap $KAFKA_BOOTSTRAP_SERVERS, in a clone of the template",
    )


def check_debezium(version: str) -> Iterator[Finding]:
    """Check that this version of Debezium loses no rows."""
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    if numbers and numbers < SAFE_DEBEZIUM:
        message = f"Debezium {version} loses rows when it restarts between interleaved transactions"
        fix = "Debezium 3.7.0 or newer"
        yield Finding("debezium-loses-rows", ERROR, "connect", 0, message, fix)


def check_running(cluster: Cluster, name: str) -> Iterator[Finding]:
    """Check that a connector runs, and its task as well."""
    status = cluster.states[name]
    connector = status["connector"]
    tasks = status["tasks"]
    place = f"connect/{name}"
    url = f"$CONNECT_URL/connectors/{name}"
    if connector["state"] in ("PAUSED", "STOPPED"):
        message = f"{name} is {connector['state']}: nothing is published, and the log is kept"
        fix = f"{CURL} -X PUT {url}/resume"
        yield Finding("connector-paused", ERROR, place, 0, message, fix)
        return
    failed = [part for part in (connector, *tasks) if part["state"] != "RUNNING"]
    if tasks and not failed:
        return
    if failed and all(part["state"] == "RESTARTING" for part in failed):
        # Another restart would begin it anew. If it never ends, connector-late tells of it.
        message = f"{name} is RESTARTING: nothing is published until that has ended"
        yield Finding("connector-restarting", WARNING, place, 0, message, f"{CURL} {url}/status")
        return
    cause = last_cause(failed)
    if OFFSET_GONE in cause:
        then = how_to_resend(cluster.positions.get(name))
        message = (
            f"{name} is at an offset that its slot no longer has: events were lost. Let it go on "
            f"at its slot, then {then}, and reconcile"
        )
        fix = forget_offset(name)
        yield Finding("connector-offset-gone", ERROR, place, 0, message, fix)
    else:
        states = [part["state"] for part in failed]
        message = f"{name} is {', '.join(states) or 'without a task'}: {cause[:LONGEST_CAUSE]}"
        # A restart of what failed does nothing for a part that no worker says it has.
        which = "&onlyFailed=true" if "FAILED" in states else ""
        fix = f'{CURL} -X POST "{url}/restart?includeTasks=true{which}"'
        yield Finding("connector-failed", ERROR, place, 0, message, fix)


def last_cause(failed: list[dict[str, Any]]) -> str:
    """Return the last cause in the Java traces of what failed."""
    cause = "it gives no reason"
    for part in failed:
        for line in part.get("trace", "").splitlines():
            is_indented = not line[:1].strip()
            if not is_indented:
                cause = line.removeprefix("Caused by: ")
    return cause


def missing_connector(wanted: Block) -> Finding:
    """Report a connector that a file describes and that is not registered."""
    name = name_of(wanted)
    file = wanted.file
    data = f"-H 'Content-Type: application/json' --data @{file}"
    fix = f"{CURL} -X PUT {data} $CONNECT_URL/connectors/{name}/config"
    is_template = Path(file).with_name("register.py").exists()
    if is_template:
        fix = "python -m connect register"
    message = f"{name} is in {file} and not in Connect: nothing of its outbox is published"
    return Finding("connector-missing", ERROR, f"connect/{name}", 0, message, fix)


def name_of(connector: Block) -> str:
    """Return a connector's name, or else that of its file."""
    return connector.name or Path(connector.file).stem
