"""A pulse: a record on the input topic that only measures how long the way takes.

It has this header and is no message. The service publishes an event for it, on a topic of its own,
and nothing else comes of it.
"""

import re

PULSE_HEADER = "pulse"
PULSE_TOPIC = "pulse.events"
PULSE_EVENT = "pulse-passed"

# When it was sent, in milliseconds since 1970, and what tells it from others.
PULSE_ID = r"[0-9]{13}-[0-9a-f]{12}"
PULSE = re.compile(PULSE_ID.encode())


def read_pulse(headers: list[tuple[str, bytes | None]]) -> str | None:
    """Return the id of the pulse that a record with these headers is; None if it is none."""
    values = [value or b"" for name, value in headers if name == PULSE_HEADER]
    if len(values) != 1 or not PULSE.fullmatch(values[0]):
        return None
    return values[0].decode()


def sent_at(pulse_id: str) -> float:
    """Return when a pulse was sent, in seconds since 1970."""
    milliseconds, _, _ = pulse_id.partition("-")
    return int(milliseconds) / 1000
