"""Reads record batches from a broker as they lie there, over a plain socket: no client shows their headers."""

import socket
import struct
from collections.abc import Iterator
from math import inf
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from ops.check.prove.batches import Batch, Writer, batches
from ops.check.prove.proxy import frames
from ops.stack.supervisor import StackError

FETCH, VERSION = 1, 10  # brokers before 4.0 give topics with compression.type=zstd to no older version
AT_ONCE = 4 * 1024 * 1024  # bytes; a larger batch comes whole all the same
SECONDS = 10  # for one answer
PLAIN = (
    "brokers since Kafka 2.1 are read as plaintext without a login: for TLS or SASL, "
    "go through a plaintext listener or a tunnel"
)

Written = dict[tuple[int, int], Writer]


class Place(NamedTuple):
    """A partition, the broker that leads it, and which offsets to read."""

    host: str
    port: int
    topic: str
    partition: int
    first: int
    end: int


def places(bootstrap: str, topic: str, newest: float = inf) -> list[Place]:
    """Where each partition is, and from which offset to which to read, the newest if so many are there."""
    consumer = reader(bootstrap)
    try:
        known = consumer.list_topics(topic, timeout=SECONDS)
        if error := known.topics[topic].error:
            raise StackError(f"{topic} at {bootstrap}: {error.str()}")
        found = []
        for number, partition in sorted(known.topics[topic].partitions.items()):
            low, high = consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=SECONDS) or (0, 0)
            leader = known.brokers[partition.leader]
            found.append(Place(leader.host, leader.port, topic, number, int(max(low, high - newest)), high))
    except KafkaException as failure:
        raise StackError(f"{bootstrap} cannot be read ({failure.args[0].str()}); {PLAIN}") from None
    finally:
        consumer.close()
    return found


def reader(bootstrap: str) -> Consumer:
    """One that joins no group and commits nothing: it is told which offsets to read, and tells where they end."""
    own = {"group.id": "prove", "enable.auto.commit": False, "auto.offset.reset": "earliest"}
    return Consumer({"bootstrap.servers": bootstrap, "enable.partition.eof": True, "log_level": 0, **own})


def read(place: Place) -> Iterator[Batch]:
    """Each batch of a partition, headers only."""
    offset = place.first
    try:
        with socket.create_connection((place.host, place.port), timeout=SECONDS) as broker:
            answers = frames(broker)
            while offset < place.end:
                broker.sendall(request(place, offset))
                for batch in (found := list(batches(answer(place, next(answers, b""))))):
                    if batch.last >= offset:
                        yield batch
                if not found:
                    raise StackError(f"{place.topic}/{place.partition}: nothing at offset {offset}, below its end")
                offset = found[-1].last + 1
    except OSError as failure:
        raise StackError(f"{place.host}:{place.port} does not answer ({failure}); {PLAIN}") from None


def request(place: Place, offset: int) -> bytes:
    """A Fetch request for this partition from this offset on; not as part of a session."""
    topic, client = place.topic.encode(), b"prove"
    head = struct.pack(f">hhih{len(client)}s", FETCH, VERSION, 0, len(client), client)
    body = struct.pack(">iiiibii", -1, 500, 1, AT_ONCE, 0, 0, -1)
    body += struct.pack(f">ih{len(topic)}s", 1, len(topic), topic)
    body += struct.pack(">iiiqqii", 1, place.partition, -1, offset, -1, AT_ONCE, 0)
    return struct.pack(">i", len(head + body)) + head + body


def answer(place: Place, frame: bytes) -> bytes:
    """The batches of one answer, or what the broker has against it."""
    if not frame:
        raise StackError(f"{place.host}:{place.port} hung up; {PLAIN}")
    (error,) = struct.unpack_from(">h", frame, 12)
    at = 18 + 4 + 2 + len(place.topic.encode()) + 4  # up to the one partition of the one topic
    if not error:
        _, error, _, _, _, aborted = struct.unpack_from(">ihqqqi", frame, at)
    if error:
        raise StackError(f"{place.topic}/{place.partition}: {KafkaError(error).str()}")
    at += 34 + 16 * max(aborted, 0)
    return frame[at + 4 :]
