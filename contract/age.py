"""Ages and times as people type them: 14d, 36h, 90 s, 2026-11-22T10:00:00Z."""

import re
import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path

SECONDS = {
    "s": 1,
    "m": 60,
    "h": 3_600,
    "d": 86_400,
    "w": 604_800,
}
LONGEST = 100 * 365 * SECONDS["d"]
BUDGET = Path(__file__).parent.parent / "pyproject.toml"
AGE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([smhdw])\s*")


def parse_age(text: str) -> float:
    """Return the seconds of an age such as 14d or 1.5h; a ValueError says what is wrong with it."""
    found = AGE.fullmatch(text)
    if not found:
        units = ", ".join(SECONDS)
        raise ValueError(f"{text!r} is no age: give a number and one of {units}, as in 14d or 36h")
    count, unit = found.groups()
    seconds = float(count) * SECONDS[unit]
    if seconds > LONGEST:
        raise ValueError(f"{text!r} is longer ago than anything here")
    return seconds


def parse_moment(text: str) -> datetime:
    """Return a time with its zone, or that of an age ago; a ValueError says what is wrong."""
    if AGE.fullmatch(text):
        age = parse_age(text)
        return datetime.now(UTC) - timedelta(seconds=age)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise ValueError(
            f"{text!r} is no time with a zone and no age: "
            "give one such as 2026-11-22T10:00:00Z or 2h"
        )
    return moment


def format_age(seconds: float) -> str:
    """Return an age in the two largest units that are not zero, as in 1 d 12 h."""
    counted = []
    rest = round(seconds)
    for unit in ("d", "h", "m", "s"):
        count, rest = divmod(rest, SECONDS[unit])
        if count:
            counted.append(f"{count} {unit}")
    if not counted:
        return "0 s"
    largest_two = counted[:2]
    return " ".join(largest_two)


def longest_replay() -> float:
    """Return for how many seconds a replay may send again what its topic does not have any more.

    The budget says it. None of the files that it refers to is read: containers lack some of them.
    """
    project = tomllib.loads(BUDGET.read_text(encoding="utf-8"))
    budget = project["tool"]["pipeline"]["budget"]
    return parse_age(str(budget["longest_replay"]))
