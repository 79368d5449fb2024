"""Whose message a record on a topic is, and whether every order that lies there is handled."""

import json
from collections.abc import Callable
from typing import cast

from confluent_kafka import Consumer, Message, TopicPartition

from ops.produce import TOPIC
from ops.topic import SECONDS, spans

EVENTS = "fulfillment.events"
Headers = list[tuple[str, bytes]]


def of_header(record: Message) -> str:
    """The message id of an order."""
    return bytes(dict(cast("Headers", record.headers()))["message_id"]).decode()


def of_value(record: Message) -> str:
    """The message id of an event."""
    return str(json.loads(record.value() or b"")["message_id"])


def handled(consumer: Consumer) -> Callable[[], bool]:
    """Whether the group has committed every order that is on the topic now."""
    ends = [
        TopicPartition(TOPIC, number, span.stop)
        for number, span in spans(consumer, TOPIC).items()
        if span
    ]
    return lambda: all(
        at.offset >= end.offset
        for at, end in zip(consumer.committed(list(ends), SECONDS), ends, strict=True)
    )
