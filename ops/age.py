"""Ages as people type them: 14d, 36h, 90 s."""

import re

SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
LONGEST = 100 * 365 * 86_400


def parse_age(text: str) -> float:
    """Return the seconds of an age such as 14d or 1.5h, or raise a ValueError that says what is wrong."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smhdw])\s*", text)
    if not found:
        raise ValueError(
            f"{text!r} is no age: give a number and one of {', '.join(SECONDS)}, such as 14d or 36h"
        )
    seconds = float(found[1]) * SECONDS[found[2]]
    if seconds > LONGEST:
        raise ValueError(f"{text!r} is longer ago than anything here")
    return seconds


def format_age(seconds: float) -> str:
    """Return the same for people: the two largest units that are not zero."""
    parts = []
    left = round(seconds)
    for unit in ("d", "h", "m", "s"):
        if left >= SECONDS[unit]:
            parts.append(f"{left // SECONDS[unit]} {unit}")
            left %= SECONDS[unit]
    return " ".join(parts[:2]) or "0 s"
