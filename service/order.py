"""The order contract: what a value must be so that it is an order, and words for why it is not."""

import json
import math
import re
from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any

from pydantic import AfterValidator, Field, StringConstraints, TypeAdapter, ValidationError
from typing_extensions import TypedDict

VALUE_LIMIT = 64 * 1024
# RFC 3339 with its zone; more digits than nanoseconds nobody means.
TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)", re.ASCII)


class InvalidOrderError(ValueError):
    """Not an order; the text names the field."""


def in_time(text: str) -> str:
    """A moment that exists, written as RFC 3339 wants it; the text itself is what is passed on."""
    if not TIMESTAMP.fullmatch(text):
        raise ValueError("should be a time like 2026-11-21T10:00:00Z")
    datetime.fromisoformat(text)
    return text


# 64 characters, none of them a control, a surrogate or another character that nobody can see.
Id = Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=r"^[ [^\p{C}\p{Z}]]+$")]


class Line(TypedDict):
    """So many of one thing, at a price."""

    sku: Id
    quantity: Annotated[int, Field(ge=1, le=10_000)]
    # Up to 17 digits before the point: 100 lines of them still add up exactly in a Decimal of 28 digits.
    unit_price: Annotated[
        str, StringConstraints(max_length=20, pattern=r"^[0-9]{1,17}(\.[0-9]{1,2})?$")
    ]


class Order(TypedDict):
    """What a customer wants; unknown fields have been left out."""

    order_id: Id
    customer_id: Id
    placed_at: Annotated[str, AfterValidator(in_time)]
    lines: Annotated[list[Line], Field(min_length=1, max_length=100)]


ORDER = TypeAdapter(Order)


def parse_order(value: bytes) -> Order:
    """The order in these bytes; whatever is wrong with them becomes an InvalidOrderError that names it."""
    with suppress(ValidationError):
        order = ORDER.validate_json(
            value, strict=True
        )  # half the time of the way below, and nearly always enough
        # Without escapes, two quotes are one string: 4 keys and 3 values, and 3 keys and 2 values in each line.
        # One more would be an unknown field or a key given twice, which this parser does not look at.
        if b"\\" not in value and value.count(b'"') == 14 + 10 * len(order["lines"]):
            return order
    try:
        return ORDER.validate_python(DECODER.decode(value.decode()), strict=True)
    except UnicodeDecodeError as error:
        raise InvalidOrderError(f"value: not UTF-8 at byte {error.start}") from None
    except ValidationError as error:
        raise InvalidOrderError(describe(error)) from None
    except RecursionError:
        raise InvalidOrderError("value: nested too deep") from None
    except ValueError as error:
        raise InvalidOrderError(f"value: {error}") from None


def total(order: Order) -> str:
    """What the order costs, exact, with two places."""
    amount = sum(
        (line["quantity"] * Decimal(line["unit_price"]) for line in order["lines"]), Decimal()
    )
    return f"{amount:.2f}"


def describe(error: ValidationError) -> str:
    """The first thing that is wrong, with the field's full name and never the value itself."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
    return f"{field.lstrip('.') or 'value'}: {WORDS.get(first['type'], first['msg'])}"


WORDS = {
    "string_pattern_mismatch": "has a character that may not stand there",
    "string_unicode": "has a surrogate",
}


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys are given once: nobody can say which of two prices the sender meant."""
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("an object has the same key twice")
    return fields


def finite(text: str) -> float:
    """A number that a float can hold: 1e400 would silently become infinity; NaN is Python's, not JSON's."""
    if not math.isfinite(number := float(text)):
        raise ValueError("a number is beyond range (or NaN or Infinity, which are not JSON)")
    return number


DECODER = json.JSONDecoder(object_pairs_hook=unique, parse_float=finite, parse_constant=finite)
