"""The payment contract: what a value must be so that it is a payment."""

from decimal import Decimal
from typing import Annotated

from pydantic import AfterValidator, StringConstraints, TypeAdapter
from typing_extensions import TypedDict

from contract.strict_json import Amount, Id, InvalidValueError, in_time, parse_strictly

VALUE_LIMIT = 64 * 1024  # bytes

# In these the service books; what is asked for in another one is rejected, not invalid.
BOOKED_CURRENCIES = frozenset({"EUR", "GBP", "USD"})


class InvalidPaymentError(ValueError):
    """Not a payment; the text names the field."""


class Payment(TypedDict):
    """What a customer pays; unknown fields have been left out."""

    payment_id: Id
    customer_id: Id
    placed_at: Annotated[str, AfterValidator(in_time)]
    amount: Amount
    currency: Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")]


PAYMENT = TypeAdapter(Payment)


def parse_payment(value: bytes) -> Payment:
    """Return the payment in these bytes, or raise an InvalidPaymentError that names the field."""
    try:
        return parse_strictly(value, PAYMENT)
    except InvalidValueError as error:
        raise InvalidPaymentError(str(error)) from None


def total(payment: Payment) -> str:
    """Return what is paid, exact, with two places."""
    return f"{Decimal(payment['amount']):.2f}"
