"""The second opinion: what was sent against what is found, by code that nobody else uses.

It shares nothing with the reconciliation of spark/: it is given plain rows that it reads itself
(observe.py), and works out by itself what must be there (expect.py). Names such as I6 are those of
the invariants in docs/faults.md.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from contract.names import INPUT_TOPIC
from lab.faults.expect import (
    Expected,
    ExpectedEvent,
    Order,
    derive,
    expect,
    expect_audit_events,
    expect_events,
    lines_of,
)
from lab.faults.facts import Audited, Event, Facts, Fulfilled, Place, Record

Row = TypeVar("Row")
Key = TypeVar("Key", bound=Hashable)


class Finding(NamedTuple):
    """One thing that is not as it must be."""

    invariant: str
    subject: str
    sentence: str


def judge(facts: Facts) -> list[Finding]:
    """Return everything that is wrong."""
    expected = expect(facts.sent)
    checks = (
        check_arrival(facts),
        check_accounts(facts, expected),
        check_offsets(facts),
        check_fulfillments(facts, expected),
        check_transactions(facts),
        check_outbox(facts.tables.events, expect_events(expected)),
        check_audit(facts, expected),
        check_outbox(facts.tables.audit_events, expect_audit_events(expected)),
        check_topics(facts),
        check_sequence(facts),
        check_lake(facts),
    )
    return [finding for findings in checks for finding in findings]


def check_arrival(facts: Facts) -> Iterator[Finding]:
    """I1, I27: each acknowledged record is where it was acknowledged, and nobody sent another."""
    found: dict[Place, Record] = {}
    for record in facts.records:
        first = found.setdefault(record.place, record)
        if first != record:
            yield Finding("I27", str(record.place), "was read with two different values")
    sent_places = set()
    for place, sample in facts.sent:
        sent_places.add(place)
        wanted = (sample.order_id.encode(), sample.value, tuple(sample.headers()))
        record_found = found.get(place)
        if record_found is None:
            yield Finding("I1", str(place), "was acknowledged and is not on its topic")
        elif record_found[1:] != wanted:
            yield Finding("I15", str(place), "was acknowledged with another value")
    for place in found:
        if place.topic == INPUT_TOPIC and place not in sent_places:
            yield Finding("I1", str(place), "is on the topic, and nobody has sent it")


def check_accounts(facts: Facts, expected: Expected) -> Iterator[Finding]:
    """I2, I4, I16: each message is tracked once, each other record is a dead letter once."""
    tracked = group(facts.tables.tracked, lambda row: row.message_id)
    yield from compare("I2", "tracking", expected.orders, tracked)
    for message_id, rows in tracked.items():
        order = expected.orders.get(message_id)
        for row in rows:
            if order and (row.place, row.sha256) != (order.place, order.sha256):
                yield Finding("I15", message_id, f"is tracked as {row.place} with another value")
            if row.audit_error:
                yield Finding("I10", message_id, f"audit refused it: {row.audit_error}")
            elif not row.is_audited:
                yield Finding("I10", message_id, "is not marked as audited")
    buried = group(facts.tables.buried, lambda row: row.place)
    yield from compare("I16", "dead letters", expected.letters, buried)
    for place, letters in buried.items():
        sample = expected.letters.get(place)
        if sample and not letters[0].reason.startswith(sample.reason):
            yield Finding("I16", str(place), f"was buried because {letters[0].reason}")


def check_offsets(facts: Facts) -> Iterator[Finding]:
    """I17: the group has committed everything, and no more than there is."""
    for partition, end in facts.ends.items():
        committed = facts.committed.get(partition, 0)
        if committed != end:
            yield Finding("I17", f"{INPUT_TOPIC}/{partition}", f"committed {committed} of {end}")


def check_fulfillments(facts: Facts, expected: Expected) -> Iterator[Finding]:
    """I3, I4, I15: each accepted message has one fulfillment, with the values that were sent."""
    accepted = {key: order for key, order in expected.orders.items() if order.is_accepted}
    found = group(facts.tables.fulfilled, lambda row: row.message_id)
    yield from compare("I4", "fulfillment", accepted, found)
    for message_id, rows in found.items():
        order = accepted.get(message_id)
        if order and not all(is_fulfillment_of(row, order) for row in rows):
            yield Finding("I15", message_id, "its fulfillment has other values")


def is_fulfillment_of(row: Fulfilled, order: Order) -> bool:
    """Return whether a row of fulfillment says what its message said."""
    found = (row.order_id, row.fulfillment_id, row.customer_id, row.lines, row.total)
    return found == (
        order.order_id,
        derive("fulfillment", order.message_id),
        order.body["customer_id"],
        lines_of(order),
        order.total,
    )


def check_transactions(facts: Facts) -> Iterator[Finding]:
    """I3: an effect and its event were written by one transaction, which Postgres itself notes."""
    writers = {event.event_id: event.transaction for event in facts.tables.events}
    effects = [
        (derive("event", row.message_id), row.message_id, row.transaction)
        for row in facts.tables.fulfilled
    ]
    effects += [
        (derive("dead-letter", str(row.place)), str(row.place), row.transaction)
        for row in facts.tables.buried
    ]
    for event_id, subject, transaction in effects:
        if writers.get(event_id, transaction) != transaction:
            yield Finding("I3", subject, "its event was written by another transaction")


def check_outbox(events: Sequence[Event], wanted: Sequence[ExpectedEvent]) -> Iterator[Finding]:
    """I3, I4, I15: the outbox holds the events that it must, each once, and says what it must."""
    by_id = {event.event_id: event for event in wanted}
    known = [event for event in events if event.event_id in by_id]
    found = group(known, lambda event: event.event_id)
    yield from compare("I4", "outbox", by_id, found)
    for row in events:
        expected = by_id.get(row.event_id)
        if expected is None:
            yield Finding("I4", row.key, f"has the event {row.event_id}, which nobody expects")
        elif not is_as_expected(row, expected):
            yield Finding("I15", row.event_id, f"another event for {row.key} was expected")


def is_as_expected(row: Event, expected: ExpectedEvent) -> bool:
    """Return whether a row of the outbox has the key, the topic and the body that it must have."""
    has_address = (row.topic, row.key) == (expected.topic, expected.key)
    return has_address and expected.matches(row.payload)


def check_audit(facts: Facts, expected: Expected) -> Iterator[Finding]:
    """I10, I11: each message has one audit entry under its own key, and nothing else has one."""
    found = group(facts.tables.audited, lambda row: row.message_id)
    yield from compare("I10", "audit entries", expected.orders, found)
    tracked = {row.message_id for row in facts.tables.tracked}
    for message_id, rows in found.items():
        if message_id not in tracked:
            yield Finding("I11", message_id, "is audited and was never handled")
        order = expected.orders.get(message_id)
        if order and not all(is_entry_of(row, order) for row in rows):
            yield Finding("I15", message_id, "its audit entry has other values")


def is_entry_of(row: Audited, order: Order) -> bool:
    """Return whether an audit entry says what became of the message."""
    key = derive("audit", order.message_id)
    fulfillment_id = derive("fulfillment", order.message_id) if order.is_accepted else None
    return row == Audited(
        idempotency_key=key,
        audit_entry_id=derive("audit-entry", key),
        message_id=order.message_id,
        order_id=order.order_id,
        outcome=order.outcome,
        fulfillment_id=fulfillment_id,
        total=order.total if order.is_accepted else None,
    )


def check_topics(facts: Facts) -> Iterator[Finding]:
    """I6, I7, I8: what both outboxes hold is on its topic; a second copy has the same bytes."""
    rows = {event.event_id: event for event in [*facts.tables.events, *facts.tables.audit_events]}
    published = [record for record in facts.records if record.place.topic != INPUT_TOPIC]
    copies = group(unique(published), lambda record: record.header("id"))
    for event_id, row in rows.items():
        if event_id not in copies:
            yield Finding("I6", event_id, f"is in the outbox and not on {row.topic}")
    rows.update({event.event_id: event for event in facts.earlier})
    for event_id, records in copies.items():
        written = rows.get(event_id)
        if written is None:
            yield Finding("I7", event_id, "is on a topic and in no outbox")
            continue
        wanted = (written.topic, written.key, written.event_type, written.payload)
        if any(as_event(record) != wanted for record in records):
            yield Finding("I8", event_id, "is on its topic with other bytes than in the outbox")


def unique(records: Iterable[Record]) -> Iterator[Record]:
    """Yield each place once: it may have been read twice."""
    places: dict[Place, Record] = {}
    for record in records:
        places.setdefault(record.place, record)
    yield from places.values()


def as_event(record: Record) -> tuple[str, str, str, str]:
    """Return of a published record what the outbox says of it."""
    key = (record.key or b"").decode()
    value = (record.value or b"").decode()
    return (record.place.topic, key, record.header("event_type"), value)


def check_sequence(facts: Facts) -> Iterator[Finding]:
    """I9: the events of a key come in the sequence in which they were written."""
    for events in (facts.tables.events, facts.tables.audit_events):
        written = {event.event_id: event.seq for event in events}
        firsts: dict[str, None] = {}
        of_key: dict[tuple[str, bytes | None], list[int]] = defaultdict(list)
        for record in sorted(facts.records, key=lambda record: record.place):
            event_id = record.header("id")
            is_second_copy = event_id in firsts
            if event_id in written and not is_second_copy:
                firsts[event_id] = None
                of_key[record.place.topic, record.key].append(written[event_id])
        for (topic, key), sequence in of_key.items():
            if sequence != sorted(sequence):
                name = (key or b"").decode()
                yield Finding("I9", f"{topic} {name}", f"is in the sequence {sequence}")


def check_lake(facts: Facts) -> Iterator[Finding]:
    """I12, I14, I15: every record has landed once, with the same key, value and headers."""
    if facts.landed is None:
        return
    landed = group(facts.landed, lambda record: record.place)
    wanted = {record.place: record for record in unique(facts.records)}
    yield from compare("I12", "lake", wanted, landed)
    for place, records in landed.items():
        if place in wanted and any(record != wanted[place] for record in records):
            yield Finding("I15", str(place), "has landed with other bytes")


def compare(
    invariant: str,
    where: str,
    wanted: Mapping[Key, object],
    found: Mapping[Key, Sequence[object]],
) -> Iterator[Finding]:
    """Yield what is missing, what is there twice, and what should not be there."""
    for key in wanted.keys() - found.keys():
        yield Finding(invariant, str(key), f"is missing from {where}")
    for key in found.keys() - wanted.keys():
        yield Finding(invariant, str(key), f"is in {where} and should not be")
    for key, rows in found.items():
        if len(rows) > 1:
            yield Finding(invariant, str(key), f"is {len(rows)} times in {where}")


def group(rows: Iterable[Row], key: Callable[[Row], Key]) -> dict[Key, list[Row]]:
    """Return the rows by this key."""
    found: dict[Key, list[Row]] = defaultdict(list)
    for row in rows:
        found[key(row)].append(row)
    return dict(found)


def count_copies(facts: Facts) -> int:
    """Return how many events are on their topic more often than once: allowed, but counted."""
    ids = [record.header("id") for record in unique(facts.records)]
    counted = Counter(event_id for event_id in ids if event_id)
    return counted.total() - len(counted)
