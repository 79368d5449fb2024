"""The payment contract, field by field, and what the rule is given of a payment."""

import json
from typing import Any

import pytest

from contract.payment import InvalidPaymentError, parse_payment, total
from contract.samples import GOOD_TOTAL
from service.record import understand
from service.rule import facts
from tests.builders import payment, record, value


def test_a_good_payment_is_understood() -> None:
    """A payment that keeps the contract is parsed, and its total has two places."""
    parsed = parse_payment(value())
    assert parsed == payment()
    assert total(parsed) == GOOD_TOTAL


def test_an_unknown_field_is_ignored() -> None:
    """A sender may add fields: they are left out, and the payment is good."""
    assert parse_payment(value(colour="red", nested={"a": [None, 1.5]})) == payment()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"payment_id": ""}, "payment_id: "),
        ({"payment_id": "x" * 65}, "payment_id: "),
        ({"customer_id": None}, "customer_id: "),
        ({"placed_at": "yesterday"}, "placed_at: "),
        ({"amount": "-1"}, "amount: "),
        ({"amount": "1.001"}, "amount: "),
        ({"amount": "1e3"}, "amount: "),
        ({"amount": 12.1}, "amount: "),
        ({"currency": "eur"}, "currency: "),
        ({"currency": "EURO"}, "currency: "),
        ({"currency": ""}, "currency: "),
        ({"currency": None}, "currency: "),
    ],
)
def test_a_broken_field_is_named(changes: dict[str, Any], reason: str) -> None:
    """What breaks the contract is refused, and the reason begins with the field's name."""
    with pytest.raises(InvalidPaymentError) as refused:
        parse_payment(value(**changes))
    assert str(refused.value).startswith(reason)


@pytest.mark.parametrize("key", ["payment_id", "customer_id", "placed_at", "amount", "currency"])
def test_a_key_given_twice_is_refused(key: str) -> None:
    """Of two values for one field nobody can say which was meant, even when they are the same."""
    again = json.dumps({key: payment()[key]}).encode()[1:-1]
    with pytest.raises(InvalidPaymentError, match="twice"):
        parse_payment(value()[:-1] + b", " + again + b"}")


@pytest.mark.parametrize(("currency", "is_bookable"), [("EUR", True), ("JPY", False)])
def test_the_rule_is_told_which_currencies_are_booked(currency: str, is_bookable: bool) -> None:
    """A currency that is not booked is no error in a payment: the rule decides on it."""
    given = facts(understand(record(of=value(currency=currency))), "s")
    assert (given["currency"], given["is_bookable"]) == (currency, is_bookable)
