"""One look at what moves events: Connect's tasks, and the slots and publications they read."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import requests
from confluent_kafka import KafkaException
from deltalake.exceptions import DeltaError
from psycopg.conninfo import make_conninfo

from access.connect import connect_session
from ops.positions import landed, try_lag
from ops.refused import KINDS, compare, count_refused
from ops.settings import OUTBOXES, Env
from ops.stack.supervisor import StackError
from ops.topic import reader, spans
from ops.trace.databases import log_in, read_password
from ops.trace.lake import LastRuns, read_last_runs
from spark.statements import read_statements

STATEMENTS = read_statements(Path(__file__).with_name("look.sql"))
SOON = 5  # seconds

Row = dict[str, Any]


class Task(NamedTuple):
    """A connector, or one of its tasks."""

    connector: str
    number: int | None  # None: the connector itself
    state: str
    reason: str  # the first line of its trace, if it has failed

    def __str__(self) -> str:
        """Return it as a sentence calls it."""
        if self.number is None:
            return f"connector {self.connector}"
        return f"task {self.number} of connector {self.connector}"


class Slot(NamedTuple):
    """The replication slot of an outbox, and the publication that it is read with."""

    outbox: str
    exists: bool
    active: bool
    wal_status: str
    written: int  # bytes of the write-ahead log: how far it is written
    confirmed: int  # and read
    held: int  # how much of it the slot keeps
    left: int | None  # how much more it may keep before it is given up; None: there is no limit
    is_published: bool  # whether the publication is there and has the outbox

    @property
    def name(self) -> str:
        """Return its name in PostgreSQL."""
        return f"{self.outbox}_outbox"


class Look(NamedTuple):
    """What was seen; None where nobody answered."""

    at: float  # on the clock of time.monotonic
    tasks: Sequence[Task] | None
    slots: Sequence[Slot] | None
    lag: int | None  # records that the service has not committed
    bursts: Sequence[str] | None  # what is refused in a burst


class Landing(NamedTuple):
    """How far the landing is, as its checkpoint says."""

    landed: int  # records, of all topics
    waiting: int


class Counts(NamedTuple):
    """What takes longer to find out, and is looked at less often."""

    lag: int | None  # records that the service has not committed
    bursts: Sequence[str] | None  # what is refused in a burst
    landing: Landing | None  # None: there is no checkpoint in a folder of this machine
    runs: LastRuns | None  # None: no reconciliation has run yet, or its lake does not answer


def look(env: Env, counts: Counts) -> Look:
    """Look at what may change from one moment to the next."""
    return Look(
        at=time.monotonic(),
        tasks=look_at_connect(env),
        slots=look_at_slots(env),
        lag=counts.lag,
        bursts=counts.bursts,
    )


def count(env: Env) -> Counts:
    """Count what waits and what was refused; for that, tables are read."""
    lags = try_lag(env)
    return Counts(
        lag=None if lags is None else sum(lags.values()),
        bursts=look_for_bursts(env),
        landing=look_at_landing(env),
        runs=look_at_runs(env),
    )


def look_at_runs(env: Env) -> LastRuns | None:
    """Return when reconciliation has run."""
    try:
        return read_last_runs(env["DELTA_ROOT"])
    except (DeltaError, OSError):
        return None


def look_at_landing(env: Env) -> Landing | None:
    """Return how many records have landed, and how many wait for it."""
    try:
        ends = landed(env)
        with reader(env["KAFKA_BOOTSTRAP_SERVERS"]) as consumer:
            held = {topic: spans(consumer, topic, SOON) for topic in ends}
    except (KafkaException, OSError, StackError):
        return None
    if not ends:
        return None
    done = sum(end for of_topic in ends.values() for end in of_topic.values())
    there = sum(span.stop for of_topic in held.values() for span in of_topic.values())
    return Landing(done, max(0, there - done))


def look_at_connect(env: Env) -> list[Task] | None:
    """Return every connector and every task."""
    url = f"{env['CONNECT_URL']}/connectors"
    try:
        with connect_session() as session:
            answer = session.get(url, params={"expand": "status"}, timeout=SOON)
        answer.raise_for_status()
        found = answer.json()
    except (requests.RequestException, OSError):
        return None
    return [task for name in sorted(found) for task in read_tasks(name, found[name]["status"])]


def read_tasks(name: str, status: Row) -> Iterator[Task]:
    """Yield a connector and its tasks."""
    for part in (status["connector"], *status["tasks"]):
        trace = part.get("trace", "")
        reason, _, _ = trace.partition("\n")
        yield Task(name, part.get("id"), part["state"], reason)


def look_at_slots(env: Env) -> list[Slot] | None:
    """Return the slot of each outbox, also one that is not there."""
    try:
        password = read_password(Path(env["RECONCILER_PASSWORD_FILE"]))
        return [
            look_at_slot(env[setting], password, outbox) for outbox, setting in OUTBOXES.items()
        ]
    except (psycopg.Error, OSError):
        return None


def look_at_slot(url: str, password: str, outbox: str) -> Slot:
    """Return the slot of an outbox."""
    address = make_conninfo(url, user="reconciler", password=password)
    with log_in(address) as session:
        found = session.execute(STATEMENTS["slot"].encode(), {"slot": f"{outbox}_outbox"})
        row = found.fetchone()
    assert row is not None  # a select without a table has one row
    return Slot(outbox=outbox, **row)


def look_for_bursts(env: Env) -> list[str] | None:
    """Return the kinds of refusals of which there is a burst."""
    try:
        found = compare({}, count_refused(env))
    except (psycopg.Error, OSError):
        return None
    return [kind.replace("_", " ") for kind in KINDS if found[kind]["burst"]]
