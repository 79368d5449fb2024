"""What makes two records the same: a header, a field of JSON, the key, or key and value."""

import json
from collections.abc import Callable, Sequence
from typing import NamedTuple

Headers = Sequence[tuple[str, bytes | None]]


class Record(NamedTuple):
    """One record, as far as it is looked at."""

    partition: int
    offset: int
    timestamp: int  # ms, that of its producer
    key: bytes | None
    value: bytes | None
    headers: Headers = ()


Identify = Callable[[Record], bytes | None]  # nothing for a record that has no such id


class UnknownIdentityError(Exception):
    """An identity that nobody understands."""


def identity(text: str) -> Identify:
    """Return how to find the id of a record, from header:NAME, json:$.PATH, key, or key+value."""
    kind, _, name = text.partition(":")
    if kind == "header" and name:
        return lambda record: of_header(record, name)
    if kind == "json" and name.startswith("$."):
        path = name.removeprefix("$.").split(".")
        return lambda record: of_json(record, path)
    if text == "key":
        return lambda record: record.key
    if text == "key+value":
        return of_key_and_value
    way_out = "say header:NAME, json:$.PATH, key, or key+value"
    raise UnknownIdentityError(f"--id {text}: {way_out}")


def of_header(record: Record, name: str) -> bytes | None:
    """Return the last header of this name, as Kafka's readers do."""
    found = [value for each, value in record.headers if each == name]
    return found[-1] if found else None


def of_json(record: Record, path: Sequence[str]) -> bytes | None:
    """Return a field of the value; none if the value is no JSON, or has no such field."""
    try:
        node = json.loads(record.value or b"")
    except ValueError:
        return None
    for name in path:
        node = node.get(name) if isinstance(node, dict) else None
    return None if node is None else json.dumps(node, sort_keys=True).encode()


def of_key_and_value(record: Record) -> bytes | None:
    """Return key and value as one id; a record without a value deletes, and is no event."""
    if record.value is None:
        return None
    key = record.key or b""
    return len(key).to_bytes(4, "big") + key + record.value
