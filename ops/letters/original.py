"""The bytes of a dead letter as they were sent: from its topic, or as the outbox has kept them."""

import time
from base64 import b64decode
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple, cast

from confluent_kafka import Consumer, Message, TopicPartition

from ops.letters.command import Letter, find_letters
from ops.settings import Env
from ops.topic import reader, span_of
from ops.trace.databases import Databases, Position
from ops.trace.topics import messages
from spark.kafka.positions import kafka_topic

ANSWER_SECONDS = 5.0
NEAR = 500  # records: to read so many takes less time than to begin anew behind them

Headers = list[tuple[str, str | bytes | None]]


class Original(NamedTuple):
    """The bytes of a dead letter, as they were sent."""

    key: bytes | None
    value: bytes | None
    headers: Headers

    @property
    def message_id(self) -> str | None:
        """Return the id of the message, if it is given once and can be one."""
        found = [value for name, value in self.headers if name == "message_id"]
        if len(found) != 1 or not isinstance(found[0], bytes):
            return None
        message_id = found[0].decode(errors="surrogateescape")
        return message_id if message_id.isprintable() else None


def find_originals(
    env: Env, databases: Databases, positions: Sequence[Position]
) -> dict[Position, Original]:
    """Return the bytes of letters: from their topic, or from the outbox if all were kept there."""
    letters = find_letters(databases, positions)
    found = dict(read_records(env, letters))
    for position, letter in letters.items():
        kept = None if position in found else read_event(letter)
        if kept:
            found[position] = kept
    return found


def read_records(
    env: Env, letters: Mapping[Position, Letter]
) -> Iterator[tuple[Position, Original]]:
    """Yield the records that are at the letters' positions, if they are still the same ones."""
    offsets = defaultdict(list)
    for position in sorted(letters):
        offsets[position.topic, position.partition].append(position.offset)
    with reader(env["KAFKA_BOOTSTRAP_SERVERS"]) as consumer:
        for (topic, partition), wanted in offsets.items():
            for message in read_partition(consumer, kafka_topic(topic), partition, wanted):
                position = Position(topic, partition, message.offset() or 0)
                if is_same(message, letters[position]):
                    original = Original(message.key(), message.value(), as_headers(message))
                    yield position, original


def read_partition(
    consumer: Consumer, topic: str, partition: int, offsets: Sequence[int]
) -> Iterator[Message]:
    """Yield the records at these offsets, in their sequence, as far as the topic has them."""
    held = span_of(consumer, TopicPartition(topic, partition), ANSWER_SECONDS)
    left = deque(offset for offset in offsets if offset in held)
    next_offset = held.stop
    while left:
        if not next_offset <= left[0] < next_offset + NEAR:
            consumer.assign([TopicPartition(topic, partition, left[0])])
        deadline = time.monotonic() + ANSWER_SECONDS
        message = next(messages(consumer, 1, deadline), None)
        if message is None:
            return
        offset = message.offset() or 0
        next_offset = offset + 1
        while left and left[0] <= offset:
            if left.popleft() == offset:
                yield message


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
