"""A record, and what it is understood as: a message, or a dead letter that keeps its bytes and says why."""

import re
from base64 import b64encode
from hashlib import sha256
from typing import Any, Literal, NamedTuple

from contract.order import VALUE_LIMIT, InvalidOrderError, Order, parse_order, total

VALUE_KEPT = (
    64 * 1024
)  # of a dead letter's value; the rest stays on the order topic for its retention
REST_KEPT = 16 * 1024  # of its key and headers together
SEQUENCE = re.compile(rb"[0-9]{1,18}")  # a bigint holds any
HEADER_COST = 32  # counted for each header beside its bytes, so that a thousand empty ones end too

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

    def header_values(self, name: str) -> list[bytes]:
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
    sequence: int | None = None  # where it stands among the others, if its producer numbers them


class DeadLetter(NamedTuple):
    """A record that is no message. One for each position: burying a record twice changes nothing."""

    record: Record
    kind: Literal["invalid", "conflict", "too_large"]
    reason: str


Item = Message | DeadLetter


class TooLargeError(InvalidOrderError):
    """More bytes than an order may have."""


def read(record: Record, needs_sequence: bool = False) -> Item:
    """The message in a record, or a dead letter that says why there is none."""
    try:
        message = understand(record)
        if needs_sequence and message.sequence is None:
            raise InvalidOrderError(
                "headers.sequence: should be given once, 1 to 18 digits (DEDUP_STORE needs it)"
            )
        return message
    except InvalidOrderError as error:
        return DeadLetter(
            record, "too_large" if isinstance(error, TooLargeError) else "invalid", str(error)
        )


def understand(record: Record) -> Message:
    """The message in a record, or an InvalidOrderError that says why it is none."""
    value, ids, traces = (
        record.value,
        record.header_values("message_id"),
        record.header_values("traceparent"),
    )
    if value is None:
        raise InvalidOrderError("value: null (a tombstone)")
    if len(value) > VALUE_LIMIT:
        raise TooLargeError(f"value: {len(value)} bytes, at most {VALUE_LIMIT} are allowed")
    if len(ids) != 1:
        raise InvalidOrderError(
            f"headers.message_id: given {len(ids)} times" if ids else "headers.message_id: missing"
        )
    message_id = ids[0].decode(
        errors="surrogateescape"
    )  # bytes that are not UTF-8 are then not printable
    if not (1 <= len(message_id) <= 64 and message_id.isprintable()):
        raise InvalidOrderError(
            "headers.message_id: should be 1 to 64 printable characters, in UTF-8"
        )
    trace = (
        traces[0].decode("ascii", "replace") if len(traces) == 1 else None
    )  # a broken one harms no order
    order, numbers = parse_order(value), record.header_values("sequence")
    sequence = int(numbers[0]) if len(numbers) == 1 and SEQUENCE.fullmatch(numbers[0]) else None
    return Message(
        record, message_id, sha256(value).hexdigest(), order, total(order), trace, sequence
    )


def payload(letter: DeadLetter) -> dict[str, Any]:
    """The event's body: a pure function of the record, so that burying it again gives the same bytes."""
    *_, key, value, headers = letter.record
    key_kept = key and key[:REST_KEPT]
    return {
        **letter.record.place,
        "kind": letter.kind,
        "reason": letter.reason,
        "key": base64(key_kept),
        "value": base64(value and value[:VALUE_KEPT]),
        "headers": kept_headers(headers, REST_KEPT - len(key_kept or b"")),
        "value_length": None if value is None else len(value),
        "value_sha256": None if value is None else sha256(value).hexdigest(),
    }


def kept_headers(headers: Headers, room: int) -> list[dict[str, str | None]]:
    """As many headers as fit, in their sequence, names as text and values as base64."""
    kept: list[dict[str, str | None]] = []
    for name, value in headers:
        room -= len(name.encode("utf-8", "surrogatepass")) + len(value or b"") + HEADER_COST
        if room >= 0:  # it only falls: after the first that does not fit, none does
            kept.append({"name": clean(name), "value": base64(value)})
    return kept


def clean(text: str) -> str:
    """A text that PostgreSQL's json can hold: no NUL, no lone surrogate."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def base64(value: bytes | None) -> str | None:
    """Bytes as text; nothing stays nothing."""
    return None if value is None else b64encode(value).decode()
