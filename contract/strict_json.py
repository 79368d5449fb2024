"""Reading JSON strictly: what the order, the audit entry and the extras' messages share.

Strict means: no key twice, no number beyond range, no conversion from one type to another. Every
error names the field and never repeats its value.
"""

import json
import math
import re
from datetime import datetime
from typing import Annotated, Any, TypeVar

from pydantic import StringConstraints, TypeAdapter, ValidationError
from pydantic_core import to_json

Contract = TypeVar("Contract")
Pairs = list[tuple[str, Any]]  # the keys and values of an object, as they were written

# 1 to 64 characters, none of them a control, a surrogate or another character that nobody can see.
Id = Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=r"^[ [^\p{C}\p{Z}]]+$")]

# At most 17 digits before the point: a hundred such prices add up exactly in Decimal's 28 digits.
Amount = Annotated[str, StringConstraints(max_length=20, pattern=r"^[0-9]{1,17}(\.[0-9]{1,2})?$")]

# RFC 3339 with its zone, to the nanosecond at most.
TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)", re.ASCII)

WORDS = {
    "string_pattern_mismatch": "has a character that may not stand there",
    "string_unicode": "has a surrogate",
}


class InvalidValueError(ValueError):
    """These bytes do not keep the contract; the text names the field."""


def parse_strictly(value: bytes, contract: TypeAdapter[Contract]) -> Contract:
    """Return what these bytes hold, or raise an InvalidValueError that says what is wrong."""
    parsed = parse_quickly(value, contract)
    if parsed is not None:
        return parsed
    try:
        decoded = DECODER.decode(value.decode())
        return contract.validate_python(decoded, strict=True)
    except (ValueError, RecursionError) as error:
        raise InvalidValueError(describe(error)) from None


def parse_quickly(value: bytes, contract: TypeAdapter[Contract]) -> Contract | None:
    """Return what these bytes hold if it is plainly good; this takes half the time of the rest.

    This parser ignores a key that is given twice, and what is in an unknown field: in both cases
    the bytes have more quotes than what it has parsed.
    """
    if b"\\" in value:
        return None
    try:
        parsed = contract.validate_json(value, strict=True)
    except ValidationError:
        return None
    quotes_parsed = to_json(parsed).count(b'"')
    quotes_given = value.count(b'"')
    if quotes_given != quotes_parsed:
        return None
    return parsed


def describe(error: ValueError | RecursionError) -> str:
    """Return the first thing that is wrong, with the field's full name but never its value."""
    match error:
        case ValidationError():
            return describe_field(error)
        case UnicodeDecodeError():
            return f"value: not UTF-8 at byte {error.start}"
        case RecursionError():
            return "value: nested too deep"
    return f"value: {error}"


def describe_field(error: ValidationError) -> str:
    """Return the first field that is wrong, and what is wrong with it."""
    first, *_ = error.errors(
        include_url=False,
        include_input=False,
        include_context=False,
    )
    field = name_field(first["loc"])
    reason = WORDS.get(first["type"], first["msg"])
    return f"{field}: {reason}"


def name_field(location: tuple[int | str, ...]) -> str:
    """Return a field's name as people write it, such as lines[2].quantity."""
    name = ""
    for part in location:
        if isinstance(part, int):
            name += f"[{part}]"
        else:
            name += f".{part}"
    return name.lstrip(".") or "value"


def in_time(text: str) -> str:
    """Return this text unchanged if it is a moment that exists, written as RFC 3339 wants it."""
    if not TIMESTAMP.fullmatch(text):
        raise ValueError("should be a time like 2026-11-21T10:00:00Z")
    datetime.fromisoformat(text)
    return text


def unique(pairs: Pairs) -> dict[str, Any]:
    """Return an object whose keys are given once: of two prices nobody knows which was meant."""
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("an object has the same key twice")
    return fields


def finite(text: str) -> float:
    """Return a number that a float can hold: 1e400 would become infinity, and NaN is not JSON."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number is beyond range (or NaN or Infinity, which are not JSON)")
    return number


DECODER = json.JSONDecoder(object_pairs_hook=unique, parse_float=finite, parse_constant=finite)
