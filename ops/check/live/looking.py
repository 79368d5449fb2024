"""Each part asked in turn: Connect first, because its connectors say what the database and the broker must have."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

import psycopg
import requests
from confluent_kafka import KafkaException

from ops.check.connector.ddl import Grant
from ops.check.connector.ddl import grants as granted
from ops.check.connector.lint import is_outbox, judge
from ops.check.connector.outbox import Outbox
from ops.check.connector.surroundings import Surroundings
from ops.check.finding import Finding, Severity
from ops.check.live import broker as kafka
from ops.check.live import cluster as connect
from ops.check.live import grants, login, slots
from ops.check.live.database import Database, opened
from ops.check.live.unseen import cannot_look, not_looked_at
from ops.check.reading.block import Block

Part = TypeVar("Part")
FAILURES = (requests.RequestException, KafkaException, psycopg.Error, OSError, ValueError)


@dataclass
class Seen:
    """What answered, and what was found so far."""

    found: list[Finding] = field(default_factory=list)
    outboxes: list[Outbox] = field(default_factory=list)
    topics: dict[str, int] = field(default_factory=dict)
    worker: Block | None = None


def look_at(environment: Mapping[str, str], blocks: Sequence[Block], sql: Iterable[str]) -> list[Finding]:
    """Every finding; a part that does not answer is one, and the others are looked at all the same."""
    seen = Seen()
    wanted = {connect.name_of(one.block): one.block for one in outboxes_of(blocks)}
    cluster = ask(seen, environment, "CONNECT_URL", lambda url: connect.read(url.rstrip("/")))
    # What runs counts, and of the files only what should run and does not: its slot waits for it.
    seen.outboxes = outboxes_of((wanted | dict(cluster.connectors if cluster else {})).values())
    if cluster:
        seen.worker = cluster.worker
        seen.found += of_connect(cluster, seen.outboxes)
    broker = ask(seen, environment, "KAFKA_BOOTSTRAP_SERVERS", kafka.read)
    if broker:
        seen.topics = {name: one.number("max.message.bytes", 0) for name, one in broker.topics.items()}
        seen.found += of_broker(broker, seen.outboxes)
    intended = granted(sql)
    urls = sorted(name for name in environment if name.endswith("DATABASE_URL") and not name.startswith("ADMIN"))
    names = [ask(seen, environment, url, partial(of_database, seen, environment, url, intended)) for url in urls]
    seen.found += unnamed(seen.outboxes, names)
    # A connector only comes back when what it needs is there, so what it needs is told first.
    return sorted(dict.fromkeys(seen.found), key=lambda one: one.id.startswith("connector-"))


def outboxes_of(blocks: Iterable[Block]) -> list[Outbox]:
    """The outbox connectors among these blocks."""
    return [outbox for outbox in (Outbox(block, Surroundings()) for block in blocks) if is_outbox(outbox)]


def ask(seen: Seen, environment: Mapping[str, str], setting: str, read: Callable[[str], Part]) -> Part | None:
    """What the part at this address says; if it does not, a finding instead."""
    if not environment.get(setting):
        seen.found.append(cannot_look(setting, "it is not set", f"source .run/env, or set {setting}"))
        return None
    try:
        return read(environment[setting])
    except FAILURES as failure:
        why = " ".join(str(failure.args[0] if failure.args else failure).split())
        seen.found.append(cannot_look(setting, f"{environment[setting]} does not answer: {why}", "pipeline status"))
        return None


def of_connect(cluster: connect.Cluster, outboxes: Iterable[Outbox]) -> Iterator[Finding]:
    """The workers, and each outbox connector."""
    yield from connect.workers(cluster)
    for outbox in outboxes:
        known = outbox.block.name in cluster.states
        yield from connect.running(cluster, outbox.block.name) if known else connect.missing(outbox.block)


def of_broker(broker: kafka.Broker, outboxes: Sequence[Outbox]) -> Iterator[Finding]:
    """The brokers, every topic, and those that events go to."""
    yield from kafka.cluster(broker)
    for one in broker.topics.values():
        yield from kafka.topic(one, broker.brokers)
        if kafka.is_routed(one, outboxes):
            yield from kafka.events(one)
    for outbox in outboxes:
        yield from kafka.heartbeats(broker, outbox)


def of_database(
    seen: Seen, environment: Mapping[str, str], setting: str, intended: Sequence[Grant], _address: str
) -> str:
    """One database: its server, and whatever its connectors need of it; its name."""
    with opened(environment, setting) as database:
        around = replace(database.around, worker=seen.worker, topics=seen.topics)
        mine = [Outbox(one.block, around) for one in seen.outboxes if one.value("database.dbname") == database.name]
        seen.found += slots.settings(database)
        seen.found += slots.orphans(database, [one.value("slot.name", "debezium") or "" for one in mine])
        seen.found += grants.grants(database, [*intended, *(g for one in mine for g in grants.needed(one, database))])
        for outbox in mine:
            seen.found += [*judge(outbox), *of_outbox(database, outbox)]
        if not intended:
            what = "what the migrations grant: none were given"
            seen.found.append(not_looked_at(database.place, what, "name their folder"))
    return database.name


def of_outbox(database: Database, outbox: Outbox) -> Iterator[Finding]:
    """What one connector needs of its database."""
    name = outbox.value("slot.name", "debezium") or ""
    yield from slots.slot(database, name, connect.name_of(outbox.block))
    yield from grants.role(database, outbox)
    yield from grants.rewriting(database, outbox)
    yield from login.logins(database, outbox.value("database.user") or "")
    yield from there(database, outbox)


def there(database: Database, outbox: Outbox) -> Iterator[Finding]:
    """The tables and the publication that the connector names are in the database."""
    tables = list(filter(None, dict.fromkeys([*outbox.included, outbox.heartbeat[1]])))
    name = outbox.value("publication.name", "dbz_publication")
    for table in tables:
        if table not in database.around.tables:
            message = f"there is no table {table}, which {connect.name_of(outbox.block)} names"
            yield Finding("table-missing", Severity.ERROR, database.place, 0, message, "python -m migrations upgrade")
    if name not in database.around.publications:
        message = f"there is no publication {name}, and its task fails without: make it, then reconcile"
        fix = f"create publication {name} for table {', '.join(tables)} with (publish = 'insert, update');"
        yield Finding("publication-missing", Severity.ERROR, database.place, 0, message, fix)


def unnamed(outboxes: Iterable[Outbox], names: Sequence[str | None]) -> Iterator[Finding]:
    """Databases that a connector reads and no URL names."""
    for outbox in outboxes:
        database = outbox.value("database.dbname")
        if database not in names and None not in names:
            what = f"database {database} of {connect.name_of(outbox.block)}: no ..._DATABASE_URL names it"
            yield not_looked_at("postgres", what, f"export OTHER_DATABASE_URL=postgresql://<writer>@<host>/{database}")
