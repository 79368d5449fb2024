"""The order contract: what a value must be so that it is an order."""

from decimal import Decimal
from typing import Annotated

from pydantic import AfterValidator, Field, TypeAdapter
from typing_extensions import TypedDict

from contract.strict_json import Amount, Id, InvalidValueError, in_time, parse_strictly

VALUE_LIMIT = 64 * 1024  # bytes


class InvalidOrderError(ValueError):
    """Not an order; the text names the field."""


class Line(TypedDict):
    """A quantity of one thing, at a price."""

    sku: Id
    quantity: Annotated[int, Field(ge=1, le=10_000)]
    unit_price: Amount


class Order(TypedDict):
    """What a customer wants; unknown fields have been left out."""

    order_id: Id
    customer_id: Id
    placed_at: Annotated[str, AfterValidator(in_time)]
    lines: Annotated[list[Line], Field(min_length=1, max_length=100)]


ORDER = TypeAdapter(Order)


def parse_order(value: bytes) -> Order:
    """Return the order in these bytes, or raise an InvalidOrderError that names the field."""
    try:
        return parse_strictly(value, ORDER)
    except InvalidValueError as error:
        raise InvalidOrderError(str(error)) from None


def total(order: Order) -> str:
    """Return what the order costs, exact, with two places."""
    cost = Decimal()
    for line in order["lines"]:
        unit_price = Decimal(line["unit_price"])
        cost += line["quantity"] * unit_price
    return f"{cost:.2f}"
