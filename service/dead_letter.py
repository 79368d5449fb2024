"""A dead letter: a record that is no message, kept with its bytes and the reason."""

from base64 import b64encode
from hashlib import sha256
from typing import Any, Literal, NamedTuple

from service.message import Headers, Record

VALUE_KEPT = 64 * 1024  # of the value; the rest stays on the order topic for its retention
REST_KEPT = 16 * 1024  # of key and headers together
HEADER_COST = 32  # counted for each header beside its bytes, so that a thousand empty ones end too

Kind = Literal["invalid", "conflict", "too_large"]


class DeadLetter(NamedTuple):
    """One for each position: burying a record twice changes nothing."""

    record: Record
    kind: Kind
    reason: str


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
    """As many headers as fit, in their order, names as text and values as base64."""
    kept: list[dict[str, str | None]] = []
    for name, value in headers:
        room -= len(name.encode("utf-8", "surrogatepass")) + len(value or b"") + HEADER_COST
        if room < 0:
            break
        kept.append({"name": clean(name), "value": base64(value)})
    return kept


def clean(text: str) -> str:
    """A text that PostgreSQL's json can hold: no NUL, no lone surrogate."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def base64(value: bytes | None) -> str | None:
    """Bytes as text; nothing stays nothing."""
    return None if value is None else b64encode(value).decode()
