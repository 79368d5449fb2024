"""Reads record batches from a broker as they lie there, over a plain socket: no client shows their headers."""

import socket
import struct
from collections.abc import Iterator

from confluent_kafka import KafkaError

from lab.prove.batches import Batch, batches
from lab.prove.frames import frames
from lab.prove.partitions import PLAIN, SECONDS, Place
from ops.stack.supervisor import StackError

FETCH, VERSION = (
    1,
    10,
)  # brokers before 4.0 give topics with compression.type=zstd to no older version
AT_ONCE = 4 * 1024 * 1024  # bytes; a larger batch comes whole all the same


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
                    raise StackError(
                        f"{place.topic}/{place.partition}: nothing at offset {offset}, below its end"
                    )
                offset = found[-1].last + 1
    except OSError as failure:
        raise StackError(
            f"{place.host}:{place.port} does not answer ({failure}); {PLAIN}"
        ) from None


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
