"""The bytes of a dead letter as they were sent: from its topic, or as the outbox has kept them."""

import time
from base64 import b64decode
from hashlib import sha256
from typing import NamedTuple, cast

from confluent_kafka import Message, TopicPartition

from ops.letters.command import Letter, find_letter
from ops.settings import Env
from ops.topic import reader, span_of
from ops.trace.databases import Position
from ops.trace.topics import messages
from spark.kafka.positions import kafka_topic

ANSWER_SECONDS = 5.0

Headers = list[tuple[str, str | bytes | None]]


class Original(NamedTuple):
    """The bytes of a dead letter, as they were sent."""

    key: bytes | None
    value: bytes | None
    headers: Headers

    @property
    def message_id(self) -> str:
        """Return the id of the message, if its header is there."""
        found = [value for name, value in self.headers if name == "message_id"]
        return found[0].decode(errors="replace") if found and isinstance(found[0], bytes) else ""


def find_original(env: Env, position: Position) -> Original | None:
    """Return the bytes of a letter: from its topic, or from the outbox if all were kept there."""
    letter = find_letter(env, str(position))
    if letter is None:
        return None
    return read_record(env, letter) or read_event(letter)


def read_record(env: Env, letter: Letter) -> Original | None:
    """Return the record that is at the letter's position, if it is still the same one."""
    position = letter.position
    topic = kafka_topic(position.topic)
    start = TopicPartition(topic, position.partition, position.offset)
    with reader(env["KAFKA_BOOTSTRAP_SERVERS"]) as consumer:
        held = span_of(consumer, start, ANSWER_SECONDS)
        if position.offset not in held:
            return None
        consumer.assign([start])
        for message in messages(consumer, 1, time.monotonic() + ANSWER_SECONDS):
            is_there = message.offset() == position.offset
            if is_there and is_same(message, letter):
                return Original(message.key(), message.value(), as_headers(message))
            break
    return None


def is_same(message: Message, letter: Letter) -> bool:
    """Return whether a record is the one of the letter: its topic may have been created again."""
    if letter.event is None:
        return letter.position.topic == message.topic()
    value = message.value()
    found = None if value is None else sha256(value).hexdigest()
    return bool(found == letter.event["value_sha256"])


def as_headers(message: Message) -> Headers:
    """Return the headers of a record as the producer takes them."""
    return cast("Headers", message.headers() or [])


def read_event(letter: Letter) -> Original | None:
    """Return what the event has kept of the record, if that is the whole value."""
    if letter.event is None:
        return None
    value = letter.bytes_of("value")
    if value is not None and len(value) != letter.event["value_length"]:
        return None
    headers: Headers = []
    for header in letter.event["headers"]:
        kept = header["value"]
        headers.append((header["name"], None if kept is None else b64decode(kept)))
    return Original(letter.bytes_of("key"), value, headers)
