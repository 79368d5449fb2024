"""A message: a record understood; it has a message id and is an order."""

from hashlib import sha256
from typing import NamedTuple

from service.order import VALUE_LIMIT, InvalidOrderError, Order, parse_order, total
from service.record import Headers, Record


class TooLargeError(InvalidOrderError):
    """More bytes than an order may have."""


class Message(NamedTuple):
    """One order event; two messages with the same id and the same value are the same message."""

    record: Record
    message_id: str
    value_sha256: str
    order: Order
    total: str
    traceparent: str | None


def understand(record: Record) -> Message:
    """The message in a record, or an InvalidOrderError that says why it is none."""
    value = record.value
    if value is None:
        raise InvalidOrderError("value: null (a tombstone)")
    if len(value) > VALUE_LIMIT:
        raise TooLargeError(f"value: {len(value)} bytes, at most {VALUE_LIMIT} are allowed")
    message_id = text_header(record.headers, "message_id")
    if message_id is None:
        raise InvalidOrderError("headers.message_id: missing")
    if not (1 <= len(message_id) <= 64 and message_id.isprintable()):
        raise InvalidOrderError("headers.message_id: should be 1 to 64 printable characters")
    order = parse_order(value)
    traces = [trace or b"" for name, trace in record.headers if name == "traceparent"]
    trace = traces[0].decode("ascii", "replace") if len(traces) == 1 else None  # a broken one harms no order
    return Message(record, message_id, sha256(value).hexdigest(), order, total(order), trace)


def text_header(headers: Headers, name: str) -> str | None:
    """The one header of this name; two of them, or bytes that are no text, are nobody's meaning."""
    found = [value for key, value in headers if key == name]
    if not found:
        return None
    if len(found) > 1:
        raise InvalidOrderError(f"headers.{name}: given {len(found)} times")
    try:
        return (found[0] or b"").decode()
    except UnicodeDecodeError:
        raise InvalidOrderError(f"headers.{name}: not UTF-8") from None
