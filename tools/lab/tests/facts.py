"""A small world in which everything is right: some samples, and all that must come of them."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from contract.names import INPUT_TOPIC
from contract.samples import every_sample
from lab.faults.expect import (
    ExpectedEvent,
    Order,
    audit_body,
    derive,
    expect,
    expect_audit_events,
    expect_events,
    lines_of,
)
from lab.faults.facts import (
    Audited,
    Buried,
    Event,
    Facts,
    Fulfilled,
    Place,
    Record,
    Sent,
    Tables,
    Tracked,
)

TRANSACTION = 700


def world(run: str = "t") -> Facts:
    """Return every kind of sample on one partition, handled, published and landed."""
    sent = [
        Sent(Place(INPUT_TOPIC, 0, offset), sample)
        for offset, sample in enumerate(every_sample(run))
    ]
    expected = expect(sent)
    orders = list(expected.orders.values())
    letters = expected.letters.items()
    tables = Tables(
        tracked=[Tracked(one.message_id, one.place, one.sha256, True, None) for one in orders],
        fulfilled=[fulfilled(one) for one in orders if one.is_accepted],
        buried=[Buried(place, f"{sample.reason}x", TRANSACTION) for place, sample in letters],
        events=rows(expect_events(expected)),
        audited=[audited(one) for one in orders],
        audit_events=rows(expect_audit_events(expected)),
    )
    records = [arrived(one) for one in sent]
    for topic_rows in (tables.events, tables.audit_events):
        records += [published(row, offset) for offset, row in enumerate(topic_rows)]
    ends = {0: len(sent)}
    return Facts(sent, tables, records, dict(ends), ends, landed=list(records))


def fulfilled(order: Order) -> Fulfilled:
    """Return the row of an accepted order."""
    return Fulfilled(
        order.order_id,
        derive("fulfillment", order.message_id),
        order.message_id,
        order.body["customer_id"],
        datetime.now(UTC),
        lines_of(order),
        order.total,
        TRANSACTION,
    )


def audited(order: Order) -> Audited:
    """Return the audit entry of an order."""
    key = derive("audit", order.message_id)
    body = audit_body(order)
    total = body["total"]
    return Audited(
        key,
        derive("audit-entry", key),
        order.message_id,
        order.order_id,
        order.outcome,
        body["fulfillment_id"],
        None if total is None else Decimal(total),
    )


def rows(events: Sequence[ExpectedEvent]) -> list[Event]:
    """Return the rows of an outbox."""
    return [
        Event(seq, one.event_id, one.topic, one.key, "some-type", payload(one), TRANSACTION)
        for seq, one in enumerate(events, 1)
    ]


def payload(event: ExpectedEvent) -> str:
    """Return the body as the outbox has it; of a reason more than its beginning."""
    body: dict[str, Any] = event.body
    if "value_sha256" in body:
        body = body | {"reason": f"{body['reason']}x"}
    return json.dumps(body)


def arrived(sent: Sent) -> Record:
    """Return a record of the input topic."""
    sample = sent.sample
    key = sample.order_id.encode()
    return Record(sent.place, key, sample.value, tuple(sample.headers()))


def published(row: Event, offset: int) -> Record:
    """Return the record of an event."""
    headers = (("id", row.event_id.encode()), ("event_type", row.event_type.encode()))
    place = Place(row.topic, 0, offset)
    return Record(place, row.key.encode(), row.payload.encode(), headers)
