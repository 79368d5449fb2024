"""Reads record batches over a plain socket, because no client shows their headers."""

import socket
import struct
from collections.abc import Iterator

from confluent_kafka import KafkaError

from lab.kafka_proxy import read_frames
from lab.prove.batches import Batch, read_batches
from lab.prove.partitions import PLAINTEXT_ONLY, SECONDS, PartitionSpan
from ops.stack.supervisor import StackError

FETCH = 1
VERSION = 10  # brokers before 4.0 give topics with compression.type=zstd to no older version
MOST_BYTES = 4 * 1024 * 1024  # a larger batch comes whole all the same
CLIENT = b"prove"
NO_REPLICA = -1
WAIT_MS = 500
READ_UNCOMMITTED = 0
NO_SESSION = (0, -1)  # session id and epoch
# The answer: length, correlation id, throttle time, error, session id; then one topic, by its name.
SESSION_ERROR_AT = 12
TOPIC_AT = 18


def read(span: PartitionSpan) -> Iterator[Batch]:
    """Yield each batch of a partition, headers only."""
    address = (span.host, span.port)
    try:
        with socket.create_connection(address, timeout=SECONDS) as broker:
            yield from fetch_all(span, broker)
    except OSError as failure:
        raise StackError(
            f"{span.host}:{span.port} does not answer ({failure}); {PLAINTEXT_ONLY}"
        ) from None


def fetch_all(span: PartitionSpan, broker: socket.socket) -> Iterator[Batch]:
    """Send one request after the other, each from where the last answer ended."""
    answers = read_frames(broker)
    offset = span.first
    while offset < span.end:
        broker.sendall(make_request(span, offset))
        frame = next(answers, b"")
        batches = list(read_batches(read_answer(span, frame)))
        if not batches:
            where = f"{span.topic}/{span.partition}"
            raise StackError(f"{where}: nothing at offset {offset}, below its end")
        for batch in batches:
            if batch.last >= offset:
                yield batch
        offset = batches[-1].last + 1


def make_request(span: PartitionSpan, offset: int) -> bytes:
    """Return a Fetch request for this partition from this offset on, outside any session."""
    head = struct.pack(">hhi", FETCH, VERSION, 0) + pack_text(CLIENT)
    limits = struct.pack(">iiiib", NO_REPLICA, WAIT_MS, 1, MOST_BYTES, READ_UNCOMMITTED)
    session = struct.pack(">ii", *NO_SESSION)
    topics = struct.pack(">i", 1) + pack_text(span.topic.encode())
    partitions = struct.pack(">iiiqqi", 1, span.partition, -1, offset, -1, MOST_BYTES)
    forgotten_topics = struct.pack(">i", 0)
    request = head + limits + session + topics + partitions + forgotten_topics
    return struct.pack(">i", len(request)) + request


def pack_text(text: bytes) -> bytes:
    """Return a string as Kafka writes it, with its length in front."""
    return struct.pack(">h", len(text)) + text


def read_answer(span: PartitionSpan, frame: bytes) -> bytes:
    """Return the batches of one answer, or raise what the broker has against it."""
    if not frame:
        raise StackError(f"{span.host}:{span.port} hung up; {PLAINTEXT_ONLY}")
    (error,) = struct.unpack_from(">h", frame, SESSION_ERROR_AT)
    partition_at = TOPIC_AT + 4 + 2 + len(span.topic.encode()) + 4
    aborted = 0
    if not error:
        _, error, _, _, _, aborted = struct.unpack_from(">ihqqqi", frame, partition_at)
    if error:
        reason = KafkaError(error).str()
        raise StackError(f"{span.topic}/{span.partition}: {reason}")
    records_at = partition_at + 34 + 16 * max(aborted, 0)
    return frame[records_at + 4 :]
