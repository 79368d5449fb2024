"""What both databases know: the rows behind one message, and behind one dead letter."""

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.rows import dict_row

from contract.events import EVENTS
from contract.names import AUDIT_DATABASE, DATABASE
from ops.settings import OUTBOXES, Env
from ops.stack.supervisor import StackError
from service.ids import derive
from spark.statements import read_statements

STATEMENTS = read_statements(Path(__file__).with_suffix(".sql"))
CONNECT_SECONDS = 5

Row = dict[str, Any]


class Position(NamedTuple):
    """Where a record is."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        """Write it as everywhere."""
        return f"{self.topic}/{self.partition}/{self.offset}"


def position_of(row: Row) -> Position:
    """Return where the record of a row is."""
    return Position(row["topic"], row["partition"], row["offset"])


class Databases(NamedTuple):
    """A connection to each of both, as the role that may read everything."""

    service: psycopg.Connection[Row]
    audit: psycopg.Connection[Row]
    subscriber: str

    def of_outbox(self, name: str) -> psycopg.Connection[Row]:
        """Return the connection to the database of an outbox."""
        return self.audit if name == AUDIT_DATABASE else self.service


class MessageRows(NamedTuple):
    """What both databases hold of one message."""

    message_id: str
    tracking: Row | None
    fulfillment: Row | None
    rejection: Row | None
    events: dict[str, Row]  # by event id: its deciding event, and those that follow
    entry: Row | None  # of the audit receiver
    audit_events: dict[str, Row]


@contextmanager
def open_databases(env: Env) -> Iterator[Databases]:
    """Log in to both as the role `reconciler`, which may only read."""
    password = read_password(Path(env["RECONCILER_PASSWORD_FILE"]))
    addresses = [
        make_conninfo(env[setting], user="reconciler", password=password)
        for setting in (OUTBOXES[DATABASE], OUTBOXES[AUDIT_DATABASE])
    ]
    try:
        with log_in(addresses[0]) as service, log_in(addresses[1]) as audit:
            yield Databases(service, audit, env["SUBSCRIBER"])
    except psycopg.OperationalError as failure:
        cause, *_ = str(failure).splitlines()
        raise StackError(f"Postgres does not answer: {cause} (is the stack up?)") from None
    except (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn) as failure:
        raise StackError(f"{failure}: run python -m migrations upgrade") from None


def read_password(file: Path) -> str:
    """Return the password of a role."""
    if not file.exists():
        raise StackError(f"there is no {file}: start the stack first (pipeline up)")
    return file.read_text().strip()


def log_in(address: str) -> psycopg.Connection[Row]:
    """Return a connection that reads rows as dictionaries."""
    return psycopg.connect(
        address, autocommit=True, connect_timeout=CONNECT_SECONDS, row_factory=dict_row
    )


def find_message_ids(databases: Databases, wanted: str) -> list[str]:
    """Return the ids of the messages that an order, message or position stands for."""
    topic, partition, offset = parse_position(wanted) or (None, None, None)
    rows = databases.service.execute(
        STATEMENTS["message_ids"].encode(),
        {
            "id": wanted,
            "subscriber": databases.subscriber,
            "topic": topic,
            "partition": partition,
            "offset": offset,
        },
    )
    return sorted(row["message_id"] for row in rows)


def parse_position(text: str) -> Position | None:
    """Return the position that a text such as order.events/0/57 names, if it names one."""
    topic, _, rest = text.partition("/")
    numbers = rest.split("/")
    is_position = len(numbers) == 2 and all(number.isdecimal() for number in numbers)
    return Position(topic, int(numbers[0]), int(numbers[1])) if is_position else None


def read_message(databases: Databases, message_id: str) -> MessageRows:
    """Return all rows of a message: their ids are derived from its own, so they are looked up."""
    subscriber = databases.subscriber
    of_message = {"subscriber": subscriber, "message_id": message_id}
    key = derive("audit", message_id, subscriber)
    return MessageRows(
        message_id=message_id,
        tracking=first(databases.service, "tracking", of_message),
        fulfillment=first(databases.service, "fulfillment", of_message),
        rejection=first(databases.service, "rejection", of_message),
        events=read_events(databases.service, event_ids(message_id, subscriber)),
        entry=first(databases.audit, "entry", {"idempotency_key": key}),
        audit_events=read_events(databases.audit, [derive("audit-entry", key)]),
    )


def event_ids(message_id: str, subscriber: str) -> list[str]:
    """Return the ids that the events of a message have, the deciding one first."""
    further = [event.event_type for event in EVENTS if event.follows]
    return [derive(kind, message_id, subscriber) for kind in ("event", *further)]


def read_events(outbox: psycopg.Connection[Row], ids: Sequence[str]) -> dict[str, Row]:
    """Return the outbox rows of these events, those that are there."""
    rows = outbox.execute(STATEMENTS["events"].encode(), {"event_ids": list(ids)})
    return {row["event_id"]: row for row in rows}


def find_letters(databases: Databases, wanted: str) -> list[Row]:
    """Return the dead letters of a key, a message id or a position."""
    given = describe_record(databases, wanted)
    return databases.service.execute(STATEMENTS["letters"].encode(), given).fetchall()


def find_parked(databases: Databases, wanted: str) -> list[Row]:
    """Return the records of a key, a message id or a position that wait behind a dead letter."""
    given = describe_record(databases, wanted)
    return databases.service.execute(STATEMENTS["parked"].encode(), given).fetchall()


def describe_record(databases: Databases, wanted: str) -> dict[str, str]:
    """Return by what a record is found that is no message yet."""
    return {
        "subscriber": databases.subscriber,
        "id": wanted,
        "id_as_base64": b64encode(wanted.encode()).decode(),
    }


def is_retired(databases: Databases, outbox: str, topic: str, written_by: int) -> bool:
    """Return whether retention has deleted what a transaction has written for this topic."""
    values = {"topic": topic, "written_by": written_by}
    row = first(databases.of_outbox(outbox), "is_retired", values)
    return bool(row and row["is_retired"])


def read_slot(databases: Databases, outbox: str) -> Row | None:
    """Return how far the slot of an outbox is read."""
    return first(databases.of_outbox(outbox), "slot", {"slot": f"{outbox}_outbox"})


def first(
    session: psycopg.Connection[Row], statement: str, values: Mapping[str, Any]
) -> Row | None:
    """Return the first row of a statement, if there is one."""
    return session.execute(STATEMENTS[statement].encode(), values).fetchone()
