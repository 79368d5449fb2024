"""What is true of a run: what was sent, and what is found of it at every place, as plain rows."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

from contract.samples import Sample


class Place(NamedTuple):
    """Where a record is."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        """Return it as people write it."""
        return f"{self.topic}/{self.partition}/{self.offset}"


class Sent(NamedTuple):
    """A sample, and where the broker has acknowledged it."""

    place: Place
    sample: Sample


class Record(NamedTuple):
    """A record as a consumer or the lake has it."""

    place: Place
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]

    def header(self, name: str) -> str:
        """Return the text of a header, or nothing."""
        return (dict(self.headers).get(name) or b"").decode()


class Tracked(NamedTuple):
    """A row of tracking."""

    message_id: str
    place: Place
    sha256: str
    is_audited: bool
    audit_error: str | None


class Fulfilled(NamedTuple):
    """A row of fulfillment; transaction is the one that wrote it."""

    order_id: str
    fulfillment_id: str
    message_id: str
    customer_id: str
    placed_at: datetime
    lines: list[dict[str, Any]]
    total: Decimal
    transaction: int


class Buried(NamedTuple):
    """A row of dead_letter."""

    place: Place
    reason: str
    transaction: int


class Event(NamedTuple):
    """A row of an outbox."""

    seq: int
    event_id: str
    topic: str
    key: str
    event_type: str
    payload: str
    transaction: int


class Audited(NamedTuple):
    """A row of audit_entry."""

    idempotency_key: str
    audit_entry_id: str
    message_id: str
    order_id: str
    outcome: str
    fulfillment_id: str | None
    total: Decimal | None


class Tables(NamedTuple):
    """What both databases hold."""

    tracked: Sequence[Tracked] = ()
    fulfilled: Sequence[Fulfilled] = ()
    buried: Sequence[Buried] = ()
    events: Sequence[Event] = ()
    audited: Sequence[Audited] = ()
    audit_events: Sequence[Event] = ()


class Facts(NamedTuple):
    """Everything that the judge is told.

    `earlier` are events of earlier runs that are on a topic again; `landed` is None where nothing
    has landed yet.
    """

    sent: Sequence[Sent]
    tables: Tables
    records: Sequence[Record]
    committed: Mapping[int, int]
    ends: Mapping[int, int]
    earlier: Sequence[Event] = ()
    landed: Sequence[Record] | None = None
