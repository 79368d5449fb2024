"""Amounts as people write them, and back: seconds, bytes, and bytes a second."""

import math
import re

SECONDS: dict[str, float] = {"ms": 0.001, "s": 1, "min": 60, "h": 3600, "d": 86_400}
BYTES: dict[str, float] = {
    "B": 1,
    "kB": 1024,
    "MB": 1024**2,
    "GB": 1024**3,
    "TB": 1024**4,
}  # as PostgreSQL counts
RATES = {f"{unit}/s": size for unit, size in BYTES.items()}
UNITS: dict[str, dict[str, float]] = {
    "time": SECONDS,
    "size": BYTES,
    "rate": RATES,
    "count": {"": 1},
}
FOREVER = {"forever", "-1"}  # -1 is how Kafka and PostgreSQL write it


def parse(text: str, kind: str, bare: str) -> float:
    """The amount in seconds, bytes or bytes a second; a number without a unit has the bare one."""
    if text.strip() in FOREVER:
        return math.inf
    found = re.fullmatch(r"([0-9][0-9_]*\.?[0-9]*)\s*([A-Za-z/]*)", text.strip())
    units = UNITS[kind]
    if not found or (found[2] or bare) not in units:
        raise ValueError(
            f"{text!r} is no {kind}: write a number and one of {', '.join(units)}, or forever"
        )
    return float(found[1]) * units[found[2] or bare]


def told(amount: float, kind: str) -> str:
    """The same for people, in the largest unit, or the largest two."""
    if math.isinf(amount) or not amount:
        return "forever" if amount else "0"
    units = UNITS[kind]
    fitting = [unit for unit, size in units.items() if size <= abs(amount)] or [next(iter(units))]
    largest = fitting[-1]
    whole, rest = divmod(amount, units[largest])
    if kind == "time" and len(fitting) > 1 and rest and units[largest] > 1:
        return f"{whole:g} {largest} {told(round(rest, 3), kind)}"
    return f"{amount / units[largest]:.4g} {largest}".strip()
