"""The amounts of a budget: their names and kinds, and how people write them."""

import math
import re

# What kind of amount each name of the intent is.
KINDS = {
    "poll_interval": "time",
    "timeout": "time",
    "database_timeout": "time",
    "receiver_timeout": "time",
    "lease": "time",
    "p99": "time",
    "drain": "time",
    "stop_grace": "time",
    "delivery_timeout": "time",
    "outage": "time",
    "back_off": "time",
    "offset_commit": "time",
    "dedup_retention": "time",
    "topic_retention": "time",
    "dead_letter_age": "time",
    "longest_replay": "time",
    "connect_outage": "time",
    "outbox_retention": "time",
    "reconciled_age": "time",
    "audit_key_lifetime": "time",
    "redelivery_window": "time",
    "batch": "count",
    "attempts": "count",
    "statements": "count",
    "margin": "count",
    "slot_keep_size": "size",
    "write_rate": "rate",
}
DEFAULTS = {"margin": 2.0, "back_off": 0.0, "offset_commit": 0.0, "statements": 1.0}

SECONDS: dict[str, float] = {
    "ms": 0.001,
    "s": 1,
    "min": 60,
    "h": 3600,
    "d": 86_400,
}
BYTES: dict[str, float] = {  # as PostgreSQL counts them
    "B": 1,
    "kB": 1024,
    "MB": 1024**2,
    "GB": 1024**3,
    "TB": 1024**4,
}
UNITS: dict[str, dict[str, float]] = {
    "time": SECONDS,
    "size": BYTES,
    "rate": {f"{unit}/s": size for unit, size in BYTES.items()},
    "count": {"": 1},
}
FOREVER = {"forever", "-1"}  # -1 is how Kafka and PostgreSQL write it
AMOUNT = re.compile(r"([0-9][0-9_]*\.?[0-9]*)\s*([A-Za-z/]*)")


def parse_amount(text: str, kind: str, bare_unit: str) -> float:
    """Return an amount in seconds, bytes or bytes a second; a bare number has the bare unit."""
    if text.strip() in FOREVER:
        return math.inf
    units = UNITS[kind]
    found = AMOUNT.fullmatch(text.strip())
    unit = (found[2] or bare_unit) if found else ""
    if not found or unit not in units:
        known = ", ".join(units)
        raise ValueError(f"{text!r} is no {kind}: write a number and one of {known}, or forever")
    return float(found[1]) * units[unit]


def format_amount(amount: float, kind: str) -> str:
    """Return an amount as people write it, in the largest unit or the largest two."""
    if math.isinf(amount):
        return "forever"
    if not amount:
        return "0"
    units = UNITS[kind]
    fitting = [unit for unit, size in units.items() if size <= abs(amount)]
    largest = fitting[-1] if fitting else next(iter(units))
    whole, rest = divmod(amount, units[largest])
    has_smaller_unit = len(fitting) > 1 and units[largest] > 1
    if kind == "time" and has_smaller_unit and rest:
        return f"{whole:g} {largest} {format_amount(round(rest, 3), kind)}"
    return f"{amount / units[largest]:.4g} {largest}".strip()
