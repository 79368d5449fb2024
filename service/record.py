"""A record, and what is read in it: a message, or a dead letter that keeps its bytes."""

import re
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Literal, NamedTuple

from contract.order import VALUE_LIMIT, InvalidOrderError, Order, parse_order, total
from contract.trace import PARENT_HEADER, STATE_HEADER, Trace
from contract.trace import read_trace as read_headers

VALUE_KEPT = 64 * 1024  # of a dead letter's value; the rest is on the topic for its retention
REST_KEPT = 16 * 1024  # of its key and headers together
HEADER_COST = 32  # counted for each header beside its bytes, so that a thousand empty ones end too
SEQUENCE = re.compile(rb"[0-9]{1,18}")  # fits a bigint

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
        """Return where the record is, under the names that tables, events and log lines use."""
        return {"topic": self.topic, "partition": self.partition, "offset": self.offset}

    def header_values(self, name: str) -> list[bytes]:
        """Return the values of all headers of this name: Kafka allows several, and empty ones."""
        return [value or b"" for key, value in self.headers if key == name]


class Message(NamedTuple):
    """A record understood; two messages with the same id and value are the same message."""

    record: Record
    message_id: str
    value_sha256: str
    order: Order
    total: str
    trace: Trace | None
    sequence: int | None = None  # its number among the others, if its producer numbers them


class DeadLetter(NamedTuple):
    """A record that is no message. One for each position: burying it twice changes nothing."""

    record: Record
    kind: Literal["invalid", "conflict", "too_large"]
    reason: str


Item = Message | DeadLetter


class TooLargeError(InvalidOrderError):
    """More bytes than an order may have."""


def read(record: Record, needs_sequence: bool = False) -> Item:
    """Return the message in a record, or a dead letter that says why there is none."""
    try:
        message = understand(record)
        if needs_sequence and message.sequence is None:
            raise InvalidOrderError(
                "headers.sequence: should be given once, 1 to 18 digits (DEDUP_STORE needs it)"
            )
    except TooLargeError as error:
        return DeadLetter(record, "too_large", str(error))
    except InvalidOrderError as error:
        return DeadLetter(record, "invalid", str(error))
    return message


def understand(record: Record) -> Message:
    """Return the message in a record, or raise an InvalidOrderError that says why it is none."""
    value = record.value
    if value is None:
        raise InvalidOrderError("value: null (a tombstone)")
    if len(value) > VALUE_LIMIT:
        raise TooLargeError(f"value: {len(value)} bytes, at most {VALUE_LIMIT} are allowed")
    message_id = read_message_id(record)
    order = parse_order(value)
    return Message(
        record,
        message_id,
        sha256(value).hexdigest(),
        order,
        total(order),
        read_trace(record),
        read_sequence(record),
    )


def read_message_id(record: Record) -> str:
    """Return the message id in the headers, or raise an InvalidOrderError."""
    ids = record.header_values("message_id")
    if not ids:
        raise InvalidOrderError("headers.message_id: missing")
    if len(ids) > 1:
        raise InvalidOrderError(f"headers.message_id: given {len(ids)} times")
    message_id = ids[0].decode(errors="surrogateescape")  # then bytes not UTF-8 are not printable
    has_a_good_length = 1 <= len(message_id) <= 64
    if not (has_a_good_length and message_id.isprintable()):
        raise InvalidOrderError(
            "headers.message_id: should be 1 to 64 printable characters, in UTF-8"
        )
    return message_id


def read_trace(record: Record) -> Trace | None:
    """Return the caller's trace; a broken one, or two of them, harm no order."""
    parents = record.header_values(PARENT_HEADER)
    if not parents:
        return None
    states = record.header_values(STATE_HEADER)
    return read_headers(as_text(parents), as_text(states))


def as_text(values: Sequence[bytes]) -> list[str]:
    """Return values of which the good ones are ASCII."""
    return [value.decode("ascii", "replace") for value in values]


def read_sequence(record: Record) -> int | None:
    """Return the producer's number of the message, if it is given once and is a number."""
    numbers = record.header_values("sequence")
    if len(numbers) != 1 or not SEQUENCE.fullmatch(numbers[0]):
        return None
    return int(numbers[0])


def payload(letter: DeadLetter, subscriber: str) -> dict[str, Any]:
    """Return the body of a dead letter's event: a pure function of record and subscriber."""
    record = letter.record
    value = record.value
    key_kept = record.key[:REST_KEPT] if record.key else record.key
    value_kept = value[:VALUE_KEPT] if value else value
    room_for_headers = REST_KEPT - len(key_kept or b"")
    return {
        **record.place,
        "subscriber": subscriber,
        "kind": letter.kind,
        "reason": letter.reason,
        "key": base64(key_kept),
        "value": base64(value_kept),
        "headers": kept_headers(record.headers, room_for_headers),
        "value_length": None if value is None else len(value),
        "value_sha256": None if value is None else sha256(value).hexdigest(),
    }


def kept_headers(headers: Headers, room: int) -> list[dict[str, str | None]]:
    """Return the first headers, as many as fit, with their values as base64."""
    kept: list[dict[str, str | None]] = []
    for name, value in headers:
        name_length = len(name.encode("utf-8", "surrogatepass"))
        room -= name_length + len(value or b"") + HEADER_COST
        if room < 0:
            break
        kept.append({"name": clean(name), "value": base64(value)})
    return kept


def clean(text: str) -> str:
    """Return a text that PostgreSQL's json can hold: no NUL, no lone surrogate."""
    without_nul = text.replace("\0", "\ufffd")
    return without_nul.encode("utf-8", "replace").decode()


def base64(value: bytes | None) -> str | None:
    """Return bytes as text, and None as None."""
    if value is None:
        return None
    return b64encode(value).decode()
