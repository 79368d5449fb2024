"""A record is bytes at a topic, partition and offset; a message is a record understood, with an id and an order."""

from hashlib import sha256
from typing import Any, NamedTuple

from service.order import VALUE_LIMIT, InvalidOrderError, Order, parse_order, total

Headers = list[tuple[str, bytes | None]]


class Record(NamedTuple):
    """What Kafka gave us, unchanged."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Headers

    @property
    def place(self) -> dict[str, Any]:
        """Where it lies, under the names that every table, event and log line uses."""
        return {"topic": self.topic, "partition": self.partition, "offset": self.offset}

    def given(self, name: str) -> list[bytes]:
        """What stands in the headers of this name: Kafka lets one be given twice, or without a value."""
        return [value or b"" for key, value in self.headers if key == name]


class Message(NamedTuple):
    """One order event; two messages with the same id and the same value are the same message."""

    record: Record
    message_id: str
    value_sha256: str
    order: Order
    total: str
    traceparent: str | None


class TooLargeError(InvalidOrderError):
    """More bytes than an order may have."""


def understand(record: Record) -> Message:
    """The message in a record, or an InvalidOrderError that says why it is none."""
    value, ids, traces = record.value, record.given("message_id"), record.given("traceparent")
    if value is None:
        raise InvalidOrderError("value: null (a tombstone)")
    if len(value) > VALUE_LIMIT:
        raise TooLargeError(f"value: {len(value)} bytes, at most {VALUE_LIMIT} are allowed")
    if len(ids) != 1:
        raise InvalidOrderError(f"headers.message_id: given {len(ids)} times" if ids else "headers.message_id: missing")
    message_id = ids[0].decode(errors="surrogateescape")  # bytes that are not UTF-8 are then not printable
    if not (1 <= len(message_id) <= 64 and message_id.isprintable()):
        raise InvalidOrderError("headers.message_id: should be 1 to 64 printable characters, in UTF-8")
    trace = traces[0].decode("ascii", "replace") if len(traces) == 1 else None  # a broken one harms no order
    order = parse_order(value)
    return Message(record, message_id, sha256(value).hexdigest(), order, total(order), trace)
