"""Each part asked in turn: Connect first, because its connectors say what the database and the broker must have."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

import psycopg
import requests
from confluent_kafka import KafkaException

from pipeline_check.connector.granted import Grant
from pipeline_check.connector.granted import grants as granted
from pipeline_check.connector.lint import is_outbox, judge
from pipeline_check.connector.outbox import Outbox
from pipeline_check.connector.surroundings import Surroundings
from pipeline_check.live import broker as kafka
from pipeline_check.live import cluster as connect
from pipeline_check.live import connectors, grants, slots, topics
from pipeline_check.live.needs import of_outbox, unnamed
from pipeline_check.live.session import opened
from pipeline_check.live.unseen import cannot_look, not_looked_at
from pipeline_check.reading.block import Block
from pipeline_check.rules.finding import Finding

Part = TypeVar("Part")
IN_CLEAR = r"(//[^:@/\s]*):[^@/\s]*@"  # where somebody wrote one into a URL
FAILURES = (requests.RequestException, KafkaException, psycopg.Error, OSError, ValueError)


@dataclass
class Seen:
    """What answered, and what was found so far."""

    found: list[Finding] = field(default_factory=list)
    outboxes: list[Outbox] = field(default_factory=list)
    topics: dict[str, int] = field(default_factory=dict)
    worker: Block | None = None
    connect_answered: bool = False


def look_at(
    environment: Mapping[str, str], blocks: Sequence[Block], sql: Iterable[str]
) -> list[Finding]:
    """Every finding; a part that does not answer is one, and the others are looked at all the same."""
    seen = Seen()
    wanted = {connectors.name_of(one.block): one.block for one in outboxes_of(blocks)}
    cluster = ask(seen, environment, "CONNECT_URL", lambda url: connect.read(url.rstrip("/")))
    # What runs counts, and of the files only what should run and does not: its slot waits for it.
    seen.outboxes = outboxes_of((wanted | dict(cluster.connectors if cluster else {})).values())
    if cluster:
        seen.worker, seen.connect_answered = cluster.worker, True
        seen.found += connectors.of_connect(cluster, seen.outboxes)
    broker = ask(seen, environment, "KAFKA_BOOTSTRAP_SERVERS", kafka.read)
    if broker:
        seen.topics = {
            name: one.number("max.message.bytes", 0) for name, one in broker.topics.items()
        }
        seen.found += topics.of_broker(broker, seen.outboxes)
    intended = granted(sql)
    urls = sorted(
        name
        for name in environment
        if name.endswith("DATABASE_URL") and not name.startswith("ADMIN")
    )
    names = [
        ask(seen, environment, url, partial(of_database, seen, environment, url, intended))
        for url in urls
    ]
    seen.found += unnamed(seen.outboxes, names)
    # A connector only comes back when what it needs is there, so what it needs is told first.
    return sorted(dict.fromkeys(seen.found), key=lambda one: one.id.startswith("connector-"))


def outboxes_of(blocks: Iterable[Block]) -> list[Outbox]:
    """The outbox connectors among these blocks."""
    return [
        outbox
        for outbox in (Outbox(block, Surroundings()) for block in blocks)
        if is_outbox(outbox)
    ]


def ask(
    seen: Seen, environment: Mapping[str, str], setting: str, read: Callable[[str], Part]
) -> Part | None:
    """What the part at this address says; if it does not, a finding instead."""
    if not environment.get(setting):
        seen.found.append(
            cannot_look(setting, "it is not set", f"source .run/env, or set {setting}")
        )
        return None
    try:
        return read(environment[setting])
    except FAILURES as failure:
        why = " ".join(str(failure.args[0] if failure.args else failure).split())
        told = re.sub(IN_CLEAR, r"\1:***@", f"{environment[setting]} does not answer: {why}")
        seen.found.append(cannot_look(setting, told, "pipeline status"))
        return None


def of_database(
    seen: Seen,
    environment: Mapping[str, str],
    setting: str,
    intended: Sequence[Grant],
    _address: str,
) -> str:
    """One database: its server, and whatever its connectors need of it; its name."""
    with opened(environment, setting) as database:
        around = replace(database.around, worker=seen.worker, topics=seen.topics)
        mine = [
            Outbox(one.block, around)
            for one in seen.outboxes
            if one.value("database.dbname") == database.name
        ]
        seen.found += slots.settings(database)
        if seen.connect_answered:  # otherwise nobody knows whose a slot is
            seen.found += slots.orphans(
                database, [one.value("slot.name", "debezium") or "" for one in mine]
            )
        seen.found += grants.grants(
            database, [*intended, *(g for one in mine for g in grants.needed(one, database))]
        )
        for outbox in mine:
            seen.found += [*judge(outbox), *of_outbox(database, outbox)]
        if not intended:
            what = "what the migrations grant: none were given"
            seen.found.append(not_looked_at(database.place, what, "name their folder"))
    return database.name
