"""Ask each part in turn: Connect first, because its connectors say what the others must have."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

import psycopg
import requests
from confluent_kafka import KafkaException

from pipeline_check.connector.lint import is_outbox, judge
from pipeline_check.connector.migrations import Grant, find_grants
from pipeline_check.connector.outbox import Outbox
from pipeline_check.connector.surroundings import Surroundings
from pipeline_check.live.access import connect_session, kafka_settings
from pipeline_check.live.connect import Cluster, check_connect, name_of, read_cluster
from pipeline_check.live.kafka import Broker, check_kafka, check_worker_topics, read_broker
from pipeline_check.live.positions import Position, check_heartbeat
from pipeline_check.live.postgres import Database, open_database
from pipeline_check.live.privileges import (
    check_grants,
    check_rewriting,
    check_role,
    needed_grants,
)
from pipeline_check.live.server import check_logins, check_orphans, check_settings, check_slot
from pipeline_check.live.unseen import cannot_look, not_looked_at
from pipeline_check.reading.block import Block
from pipeline_check.rules.finding import Finding, Severity

Part = TypeVar("Part")
LOGIN_IN_URL = r"(//[^:@/\s]*):[^@/\s]*@"
FAILURES = (requests.RequestException, KafkaException, psycopg.Error, OSError, ValueError)


@dataclass
class Seen:
    """What answered, and what was found so far."""

    environment: Mapping[str, str]
    found: list[Finding] = field(default_factory=list)
    outboxes: list[Outbox] = field(default_factory=list)
    topics: dict[str, int] = field(default_factory=dict)
    worker: Block | None = None
    positions: Mapping[str, Position] = field(default_factory=dict)
    connect_answered: bool = False


def look_at_parts(
    environment: Mapping[str, str], blocks: Sequence[Block], sql: Iterable[str]
) -> list[Finding]:
    """Return every finding; a part that does not answer is one, and the others are still asked."""
    seen = Seen(environment)
    look_at_connect(seen, blocks)
    look_at_kafka(seen, [block for block in blocks if block.kind == "worker"])
    look_at_databases(seen, find_grants(sql))
    # A connector only comes back when what it needs is there, so that is reported first.
    return sorted(dict.fromkeys(seen.found), key=lambda one: one.id.startswith("connector-"))


def look_at_connect(seen: Seen, blocks: Sequence[Block]) -> None:
    """Ask Connect; what runs counts, and of the files what should run: its slot waits for it."""
    wanted = {name_of(outbox.block): outbox.block for outbox in outboxes_of(blocks)}
    cluster = ask(seen, "CONNECT_URL", partial(look_at_cluster, seen.environment))
    if cluster:
        wanted |= cluster.connectors
    seen.outboxes = outboxes_of(wanted.values())
    if cluster:
        seen.worker = cluster.worker
        seen.positions = cluster.positions
        seen.connect_answered = True
        seen.found += check_connect(cluster, seen.outboxes)


def look_at_cluster(environment: Mapping[str, str], url: str) -> Cluster:
    """Return what Connect answers to whom it lets in."""
    with connect_session(environment) as session:
        return read_cluster(session, url.rstrip("/"))


def look_at_broker(environment: Mapping[str, str], bootstrap: str) -> Broker:
    """Return what Kafka answers to whom it lets in."""
    return read_broker(kafka_settings(environment, bootstrap))


def look_at_kafka(seen: Seen, workers: Iterable[Block]) -> None:
    """Ask Kafka."""
    broker = ask(seen, "KAFKA_BOOTSTRAP_SERVERS", partial(look_at_broker, seen.environment))
    if broker:
        for name, topic in broker.topics.items():
            seen.topics[name] = topic.number("max.message.bytes", 0)
        seen.found += check_kafka(broker, seen.outboxes)
        seen.found += check_worker_topics(broker, workers)


def look_at_databases(seen: Seen, intended: Sequence[Grant]) -> None:
    """Ask each database that the environment names."""
    every = sorted(name for name in seen.environment if name.endswith("DATABASE_URL"))
    settings = [name for name in every if not name.startswith("ADMIN")]
    names = [
        ask(seen, setting, partial(look_at_database, seen, setting, intended))
        for setting in settings
    ]
    seen.found += unnamed_databases(seen.outboxes, names)


def outboxes_of(blocks: Iterable[Block]) -> list[Outbox]:
    """Return the outbox connectors among these blocks."""
    candidates = [Outbox(block, Surroundings()) for block in blocks]
    return [outbox for outbox in candidates if is_outbox(outbox)]


def ask(seen: Seen, setting: str, read: Callable[[str], Part]) -> Part | None:
    """Return what the part at an address says; if it says nothing, note a finding instead."""
    address = seen.environment.get(setting)
    if not address:
        fix = f"source .run/env, or set {setting}"
        seen.found.append(cannot_look(setting, "it is not set", fix))
        return None
    try:
        return read(address)
    except FAILURES as failure:
        reason = str(failure.args[0] if failure.args else failure)
        why = f"{address} does not answer: {' '.join(reason.split())}"
        without_password = re.sub(LOGIN_IN_URL, r"\1:***@", why)
        seen.found.append(cannot_look(setting, without_password, "pipeline status"))
        return None


def look_at_database(seen: Seen, setting: str, intended: Sequence[Grant], _address: str) -> str:
    """Check one database: its server, and what its connectors need of it; return its name."""
    with open_database(seen.environment, setting) as database:
        around = replace(database.around, worker=seen.worker, topics=seen.topics)
        mine = [
            Outbox(outbox.block, around)
            for outbox in seen.outboxes
            if outbox.value("database.dbname") == database.name
        ]
        seen.found += check_settings(database)
        if seen.connect_answered:  # otherwise nobody knows whose a slot is
            seen.found += check_orphans(database, [slot_name(outbox) for outbox in mine])
        wanted = list(intended)
        for outbox in mine:
            wanted += needed_grants(outbox, database)
        seen.found += check_grants(database, wanted)
        for outbox in mine:
            seen.found += judge(outbox)
            seen.found += check_needs(database, outbox, seen.positions)
        if not intended:
            what = "what the migrations grant: none were given"
            seen.found.append(not_looked_at(database.place, what, "name their folder"))
        return database.name


def slot_name(outbox: Outbox) -> str:
    """Return the name of a connector's slot."""
    return outbox.value("slot.name", "debezium") or ""


def check_needs(
    database: Database, outbox: Outbox, positions: Mapping[str, Position]
) -> Iterator[Finding]:
    """Check everything that one connector needs of its database."""
    connector = name_of(outbox.block)
    position = positions.get(connector)
    yield from check_slot(database, slot_name(outbox), connector, position)
    if position:
        yield from check_heartbeat(database, outbox, connector, position)
    yield from check_role(database, outbox)
    yield from check_rewriting(database, outbox)
    yield from check_logins(database, outbox.value("database.user") or "")
    yield from check_objects(database, outbox)


def check_objects(database: Database, outbox: Outbox) -> Iterator[Finding]:
    """Check that the tables and the publication that a connector names are in the database."""
    connector = name_of(outbox.block)
    place = database.place
    _, heartbeat = outbox.heartbeat
    tables = [name for name in dict.fromkeys([*outbox.included, heartbeat]) if name]
    for table in tables:
        if table not in database.around.tables:
            message = f"there is no table {table}, which {connector} names"
            fix = "python -m migrations upgrade"
            yield Finding("table-missing", Severity.ERROR, place, 0, message, fix)
    publication = outbox.publication_name
    if publication not in database.around.publications:
        message = (
            f"there is no publication {publication}, and its task fails without: make it, then "
            "reconcile"
        )
        published = ", ".join(tables)
        fix = (
            f"create publication {publication} for table {published} "
            "with (publish = 'insert, update');"
        )
        yield Finding("publication-missing", Severity.ERROR, place, 0, message, fix)


def unnamed_databases(outboxes: Iterable[Outbox], names: Sequence[str | None]) -> Iterator[Finding]:
    """Report databases that a connector reads and no URL names."""
    for outbox in outboxes:
        database = outbox.value("database.dbname")
        if database not in names and None not in names:
            yield not_looked_at(
                "postgres",
                f"database {database} of {name_of(outbox.block)}: no ..._DATABASE_URL names it",
                f"export OTHER_DATABASE_URL=postgresql://<writer>@<host>/{database}",
            )
