"""The path of one order, step by step; and a redelivery with and without tracking."""

import json
import sys

from cloudevents.core.bindings.kafka import KafkaMessage, from_binary
from cloudevents.core.formats.json import JSONFormat

from contract.events import ACCEPTED, EVENTS
from contract.samples import fulfillment
from ops.stack.stack import Stack
from service.ids import derive
from tests.builders import order, value
from tests.client import (
    Sent,
    exactly_one,
    fresh,
    of,
    query,
    send,
    until_handled,
    until_published,
)

[FULFILLED] = [event.event_type for event in EVENTS if event.outcome == ACCEPTED]


def test_one_order_passes_every_hop(stack: Stack) -> None:
    """One order becomes one row in each table, one audit entry and one event on each topic."""
    order_id, message_id = fresh("o"), fresh("m")

    # An order is placed.
    send([Sent(message_id, order_id, value(order_id))])
    until_handled()

    # One transaction has written tracking, fulfillment and outbox.
    exactly_one([message_id])
    xmins = query(
        "select xmin from fulfillment where message_id = %s union select xmin from outbox"
        " where payload->>'message_id' = %s",
        message_id,
        message_id,
    )
    assert len(xmins) == 1

    # The audit receiver has one entry, and tracking is marked.
    [(audited_at, error)] = query(
        "select audited_at, audit_error from tracking where message_id = %s", message_id
    )
    assert audited_at is not None
    assert error is None

    # Debezium publishes the fulfillment, byte for byte what the outbox holds, under the derived id.
    [(payload,)] = query(
        "select payload::text from outbox where payload->>'message_id' = %s and event_type = %s",
        message_id,
        FULFILLED,
    )
    [event] = until_published("fulfillment.events", of(message_id), 1)
    assert event.key == order_id
    assert event.value == payload.encode()
    assert event.headers["id"] == derive("event", message_id).encode()
    fulfillment_id = derive("fulfillment", message_id)
    assert json.loads(event.value) == fulfillment(order(order_id), message_id, fulfillment_id)

    # The audit entry is published too.
    [audited] = until_published("audit.events", of(message_id), 1)
    assert json.loads(audited.value)["idempotency_key"] == derive("audit", message_id)


def test_the_same_message_three_times_is_one(stack: Stack) -> None:
    """A message that is delivered three times has one row in each table, audit entry and event."""
    order_id, message_id, last = fresh("o"), fresh("m"), fresh("m")
    send([Sent(message_id, order_id, value(order_id))] * 3)
    until_handled()
    send([Sent(message_id, order_id, value(order_id)), Sent(last, fresh("o"), value(fresh("o")))])
    until_handled()
    exactly_one([message_id, last])
    until_published(
        "fulfillment.events", of(last), 1
    )  # what was written before it is published by now
    assert len(until_published("fulfillment.events", of(message_id), 1)) == 1


def test_without_tracking_the_same_message_three_times_is_three(spoiled: Stack) -> None:
    """Control: a service that treats every delivery as the first publishes three events."""
    order_id, message_id = fresh("o"), fresh("m")
    spoiled.stop("service")
    try:
        spoiled.start("service", [sys.executable, "-m", "tests.e2e.untracked"])
        for _ in range(3):
            send([Sent(message_id, order_id, value(order_id))])
            until_handled()
    finally:
        spoiled.stop("service")
        spoiled.start("service")
    assert len(until_published("fulfillment.events", of(message_id), 3)) == 3


def test_a_cloudevents_sdk_reads_the_headers(stack: Stack) -> None:
    """A CloudEvents SDK reads id, type, source and time from the headers, and none is null."""
    order_id, message_id = fresh("o"), fresh("m")
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    send([Sent(message_id, order_id, value(order_id), [("traceparent", trace)])])
    [event] = until_published("fulfillment.events", of(message_id), 1)
    assert None not in event.headers.values()
    assert not [name for name in event.headers if "debezium" in name]
    assert event.headers["traceparent"] == trace.encode()
    assert event.headers["event_type"] == FULFILLED.encode()
    read = from_binary(KafkaMessage(event.headers, event.key.encode(), event.value), JSONFormat())
    assert read.get_id() == derive("event", message_id)
    assert read.get_type() == FULFILLED
    assert read.get_source() == "/fulfillment"
    assert read.get_time() is not None
