"""Which message a record belongs to, and whether a group has handled every order."""

import json
from collections.abc import Callable
from typing import cast

from confluent_kafka import Consumer, Message, TopicPartition

from contract.names import INPUT_TOPIC
from ops.topic import SECONDS, spans

EVENTS = "fulfillment.events"
Headers = list[tuple[str, bytes]]


def id_in_header(record: Message) -> str:
    """Return the message id of an order."""
    headers = dict(cast("Headers", record.headers()))
    return headers["message_id"].decode()


def id_in_value(record: Message) -> str:
    """Return the message id of an event."""
    event = json.loads(record.value() or b"")
    return str(event["message_id"])


def watch_group(consumer: Consumer) -> Callable[[], bool]:
    """Return a check whether the group has committed every order that is on the topic now."""
    ends = [
        TopicPartition(INPUT_TOPIC, number, span.stop)
        for number, span in spans(consumer, INPUT_TOPIC).items()
        if span
    ]

    def is_handled() -> bool:
        committed = consumer.committed(list(ends), SECONDS)
        pairs = zip(committed, ends, strict=True)
        return all(at.offset >= end.offset for at, end in pairs)

    return is_handled
