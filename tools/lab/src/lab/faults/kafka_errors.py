"""Where the error codes stand in a broker's answer, so that a wire can put one of its own there.

One broker alone never lacks a replica or a coordinator: Kafka counts no more replicas than there
are. Its answers are therefore changed on their way. What was asked has happened by then, as after
a real NOT_ENOUGH_REPLICAS_AFTER_APPEND.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

PRODUCE, OFFSET_COMMIT = 0, 8
COORDINATOR_NOT_AVAILABLE = 15
NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20
HEAD = 4 + 4  # of an answer: its length, and the number of the request


class Layout(NamedTuple):
    """From which versions on the answer to a request has which fields."""

    newest: int
    compact: int  # lengths as varints, and tagged fields
    throttled_first: int  # how long to wait stands before the topics
    topic_ids: int  # instead of names


LAYOUTS = {
    PRODUCE: Layout(newest=13, compact=9, throttled_first=99, topic_ids=13),
    OFFSET_COMMIT: Layout(newest=10, compact=8, throttled_first=3, topic_ids=10),
}
OFFSETS_OF_PRODUCE = {0: 8, 2: 16, 5: 24}  # bytes after the error code, from each version on


class Request(NamedTuple):
    """Which answer to expect, and in what form."""

    api_key: int
    version: int
    number: int


def read_request(frame: bytes) -> Request:
    """Read the head of a whole request."""
    return Request(*struct.unpack_from(">hhi", frame, 4))


def read_number(frame: bytes) -> int:
    """Return the number of the request that a whole answer belongs to."""
    (number,) = struct.unpack_from(">i", frame, 4)
    return int(number)


def with_errors(request: Request, frame: bytes, code: int) -> bytes:
    """Return an answer with this error for every partition."""
    changed = bytearray(frame)
    for position in error_positions(request, frame):
        struct.pack_into(">h", changed, position, code)
    return bytes(changed)


def error_positions(request: Request, frame: bytes) -> list[int]:
    """Return where the error codes stand, one for each partition."""
    layout = LAYOUTS[request.api_key]
    if request.version > layout.newest:
        raise ValueError(
            f"request {request.api_key} in version {request.version}: its answer is known up to "
            f"version {layout.newest}; add the newer one to LAYOUTS"
        )
    return list(walk(request, layout, Reader(frame, HEAD, request.version >= layout.compact)))


def walk(request: Request, layout: Layout, reader: "Reader") -> Iterator[int]:
    """Walk over topics and partitions and yield the positions on the way."""
    reader.skip_tags()
    if request.version >= layout.throttled_first:
        reader.skip(4)
    for _ in range(reader.count()):
        if request.version >= layout.topic_ids:
            reader.skip(16)
        else:
            reader.skip_text()
        for _ in range(reader.count()):
            reader.skip(4)  # the partition's number
            yield reader.position
            reader.skip(2)
            if request.api_key == PRODUCE:
                skip_rest_of_produced(request.version, reader)
            reader.skip_tags()
        reader.skip_tags()


def skip_rest_of_produced(version: int, reader: "Reader") -> None:
    """Skip what an answer to Produce says of a partition besides its error code."""
    reader.skip(max(size for since, size in OFFSETS_OF_PRODUCE.items() if version >= since))
    if version < 8:
        return
    for _ in range(reader.count()):  # records with an error of their own
        reader.skip(4)
        reader.skip_text()
        reader.skip_tags()
    reader.skip_text()


class Reader:
    """Goes through an answer field by field."""

    def __init__(self, frame: bytes, position: int, compact: bool) -> None:
        self.frame = frame
        self.position = position
        self.compact = compact

    def skip(self, size: int) -> None:
        """Go over a field of this many bytes."""
        self.position += size

    def number(self, size: int) -> int:
        """Read a number with its sign."""
        start, self.position = self.position, self.position + size
        return int.from_bytes(self.frame[start : self.position], signed=True)

    def varint(self) -> int:
        """Read a number of seven bits a byte."""
        value, shift = 0, 0
        while True:
            byte = self.frame[self.position]
            self.position += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def count(self) -> int:
        """Read how many there are of what follows."""
        return self.varint() - 1 if self.compact else self.number(4)

    def skip_text(self) -> None:
        """Go over a text, which may be null."""
        length = self.varint() - 1 if self.compact else self.number(2)
        self.skip(max(0, length))

    def skip_tags(self) -> None:
        """Go over tagged fields, where there are any."""
        if not self.compact:
            return
        for _ in range(self.varint()):
            self.varint()
            self.skip(self.varint())
