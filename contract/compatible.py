"""What a later contract has changed so that somebody cannot follow.

Who reads our events must find what was there: no topic, message or field may go, and no type may
change. Who sends orders must be understood as before: no field may be asked for that was not, and
no limit may be narrower. New events, and new fields of events, harm nobody.
"""

from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]

LOWER_LIMITS = ("minimum", "minLength", "minItems")
UPPER_LIMITS = ("maximum", "maxLength", "maxItems")


def find_breaks(earlier: Json, later: Json) -> list[str]:
    """Return a sentence for each change that somebody cannot follow."""
    return [*of_channels(earlier, later), *of_messages(earlier, later)]


def of_channels(earlier: Json, later: Json) -> Iterator[str]:
    """Yield what is gone from its topic."""
    for topic, channel in earlier["channels"].items():
        if topic not in later["channels"]:
            yield f"topic {topic} is gone"
            continue
        here = later["channels"][topic]["messages"]
        for name in channel["messages"].keys() - here.keys():
            yield f"{name} is on topic {topic} no more"


def of_messages(earlier: Json, later: Json) -> Iterator[str]:
    """Yield what has changed in messages that are still there."""
    received = {last_word(one) for one in earlier["operations"]["receive"]["messages"]}
    after = later["components"]["messages"]
    for name, before in earlier["components"]["messages"].items():
        if name not in after:
            continue  # its topic says so
        compare = of_received if name in received else of_sent
        for part in ("headers", "payload"):
            whole = Whole(before[part], after[name][part])
            yield from compare(f"{name}, {part}", before[part], after[name][part], whole)


class Whole:
    """The two schemas that a comparison is in: parts of them refer to others by name."""

    def __init__(self, before: Json, after: Json) -> None:
        """Remember the definitions of both."""
        self.before = before.get("$defs", {})
        self.after = after.get("$defs", {})

    def resolve(self, before: Json, after: Json) -> tuple[Json, Json]:
        """Return two schemas, where they are only named those that are meant."""
        if "$ref" in before:
            before = self.before[last_word(before)]
        if "$ref" in after:
            after = self.after[last_word(after)]
        return before, after


def last_word(reference: Json) -> str:
    """Return the name at the end of a reference."""
    return str(reference["$ref"]).rpartition("/")[2]


def of_sent(where: str, before: Json, after: Json, whole: Whole) -> Iterator[str]:
    """Yield what a reader of ours would miss."""
    before, after = whole.resolve(before, after)
    if before.get("type") != after.get("type"):
        yield f"{where}: was {before.get('type')}, is {after.get('type')}"
        return
    fields = after.get("properties", {})
    for name, field in before.get("properties", {}).items():
        place = f"{where}.{name}"
        if name not in fields:
            yield f"{place}: is gone"
            continue
        if name in before.get("required", ()) and name not in after.get("required", ()):
            yield f"{place}: was always there, and is not"
        yield from of_sent(place, field, fields[name], whole)
    if "items" in before:
        yield from of_sent(f"{where}[]", before["items"], after["items"], whole)


def of_received(where: str, before: Json, after: Json, whole: Whole) -> Iterator[str]:
    """Yield what would refuse a sender of today."""
    before, after = whole.resolve(before, after)
    if before.get("type") != after.get("type"):
        yield f"{where}: was {before.get('type')}, must be {after.get('type')}"
        return
    for name in set(after.get("required", ())) - set(before.get("required", ())):
        yield f"{where}.{name}: was not asked for, and is"
    yield from of_limits(where, before, after)
    fields = after.get("properties", {})
    for name, field in before.get("properties", {}).items():
        if name in fields:  # one that nobody reads any more harms no sender
            yield from of_received(f"{where}.{name}", field, fields[name], whole)
    if "items" in before:
        yield from of_received(f"{where}[]", before["items"], after["items"], whole)


def of_limits(where: str, before: Json, after: Json) -> Iterator[str]:
    """Yield each limit that is narrower, or new."""
    for limit in (*LOWER_LIMITS, *UPPER_LIMITS, "pattern", "enum"):
        if limit in after and is_narrower(limit, before.get(limit), after[limit]):
            was = before.get(limit, "none")
            yield f"{where}: {limit} was {was}, is {after[limit]}"


def is_narrower(limit: str, before: Any, after: Any) -> bool:
    """Return whether a limit lets less pass than before; without one, everything did."""
    if before is None:
        return True
    if limit in LOWER_LIMITS:
        return bool(after > before)
    if limit in UPPER_LIMITS:
        return bool(after < before)
    return bool(after != before)
