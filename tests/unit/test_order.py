"""The order contract, field by field."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract.order import ORDER, InvalidOrderError, parse_order, total
from contract.samples import GOOD, GOOD_TOTAL
from contract.strict_json import DECODER
from service.record import TooLargeError, understand
from tests.builders import order, record, value

LINES = GOOD["lines"]


def line(**changes: Any) -> list[dict[str, Any]]:
    """Return one line, with these changes."""
    return [LINES[0] | changes]


def test_a_good_order_is_understood() -> None:
    """An order that keeps the contract is parsed, and its total is exact."""
    parsed = parse_order(value())
    assert parsed == order()
    assert total(parsed) == GOOD_TOTAL


def test_an_unknown_field_is_ignored() -> None:
    """Fields that the contract does not know are left out, and the order is good."""
    assert parse_order(value(colour="red", nested={"a": [None, 1.5]})) == order()


def test_a_total_is_exact_where_a_float_is_not() -> None:
    """A hundred lines of the largest price and quantity still add up to the last cent."""
    lines = [{"sku": "x", "quantity": 10_000, "unit_price": "99999999999999999.99"}] * 100
    cents = 100 * 10_000 * 9_999_999_999_999_999_999
    assert total(parse_order(value(lines=lines))) == f"{cents // 100}.{cents % 100:02}"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"order_id": ""}, "order_id: "),
        ({"order_id": "x" * 65}, "order_id: "),
        ({"order_id": "a\nb"}, "order_id: has a character that may not stand there"),
        ({"order_id": "a\0b"}, "order_id: has a character that may not stand there"),
        ({"order_id": "a\u2028b"}, "order_id: has a character that may not stand there"),
        ({"order_id": "\ud800"}, "order_id: has a surrogate"),
        ({"order_id": 7}, "order_id: "),
        ({"customer_id": None}, "customer_id: "),
        ({"placed_at": "yesterday"}, "placed_at: "),
        ({"placed_at": "2026-02-30T10:00:00Z"}, "placed_at: "),
        ({"placed_at": "2026-11-21T10:00:00"}, "placed_at: "),
        ({"placed_at": "2026-W47-6"}, "placed_at: "),
        ({"lines": []}, "lines: "),
        ({"lines": LINES * 40}, "lines: "),
        ({"lines": line(quantity=0)}, "lines[0].quantity: "),
        ({"lines": [*LINES, *line(quantity=10_001)]}, "lines[3].quantity: "),
        ({"lines": line(quantity="2")}, "lines[0].quantity: "),
        ({"lines": line(quantity=2.0)}, "lines[0].quantity: "),
        ({"lines": line(quantity=True)}, "lines[0].quantity: "),
        ({"lines": line(unit_price="-1")}, "lines[0].unit_price: "),
        ({"lines": line(unit_price="1.001")}, "lines[0].unit_price: "),
        ({"lines": line(unit_price="1e3")}, "lines[0].unit_price: "),
        ({"lines": line(unit_price="١٢")}, "lines[0].unit_price: "),
        ({"lines": line(unit_price=12.1)}, "lines[0].unit_price: "),
        ({"lines": line(sku="")}, "lines[0].sku: "),
    ],
)
def test_a_broken_field_is_named(changes: dict[str, Any], reason: str) -> None:
    """What breaks the contract is refused, and the reason begins with the field's full name."""
    with pytest.raises(InvalidOrderError) as refused:
        parse_order(value(**changes))
    assert str(refused.value).startswith(reason)


@pytest.mark.parametrize(
    "raw",
    [
        b'{"order_id": "o-1"',
        b"",
        b"[]",
        b"null",
        b"\xff\xfe",
        value()[:-1] + b', "x": NaN}',
        value()[:-1] + b', "x": 1e400}',
        value()[:-1] + b', "x": -Infinity}',
        value()[:-1] + b', "x": ' + b"9" * 5000 + b"}",
        value()[:-1] + b', "x": ' + b"[" * 30_000 + b"]" * 30_000 + b"}",
        value()[:-1] + b', "order_id": "o-2"}',
        value()[:-1] + b', "x": {"a": 1, "a": 1}}',
        b'"' + value()[1:],
    ],
)
def test_bytes_that_are_not_an_order_are_refused(raw: bytes) -> None:
    """Broken JSON, edge cases and parser bombs are refused with a reason that names the value."""
    with pytest.raises(InvalidOrderError, match=r"^value: "):
        parse_order(raw)


def test_a_tombstone_is_refused() -> None:
    """A record without a value is refused as a tombstone."""
    with pytest.raises(InvalidOrderError, match="tombstone"):
        understand(record(of=None))


def test_a_value_beyond_the_limit_is_too_large() -> None:
    """A value of 64 KiB passes; one more byte is too large, whatever it holds."""
    padding = 64 * 1024 - len(value(pad=""))
    understand(record(of=value(pad="x" * padding)))
    with pytest.raises(TooLargeError):
        understand(record(of=value(pad="x" * (padding + 1))))


@pytest.mark.parametrize("message_id", [None, "", "x" * 65, "a\r\nb", b"\xff"])
def test_a_bad_message_id_is_refused(message_id: str | bytes | None) -> None:
    """A message needs one message id of 1 to 64 printable characters in its header."""
    with pytest.raises(InvalidOrderError, match=r"^headers\.message_id: "):
        understand(record(message_id))


def test_two_message_ids_are_refused() -> None:
    """A record with two message ids is refused."""
    with pytest.raises(InvalidOrderError, match="given 2 times"):
        understand(record(headers=[("message_id", b"m-2")]))


@pytest.mark.parametrize("traces", [[b"\xff"], [b""], [None], [b"a", b"b"], [b"00-zz"]])
def test_a_broken_trace_harms_no_order(traces: list[bytes | None]) -> None:
    """A traceparent that is empty, not text, or given twice is ignored; the order is good."""
    message = understand(record(headers=[("traceparent", trace) for trace in traces]))
    assert message.trace is None


@pytest.mark.parametrize("odd", ["'; drop table tracking; --", "ünï", "注文", "a b", "x" * 64])
def test_an_odd_id_is_allowed(odd: str) -> None:
    """SQL, accents, other scripts and spaces are allowed in an id."""
    assert understand(record(odd, value(odd))).order["order_id"] == odd


def test_the_reason_never_shows_the_value() -> None:
    """A reason names the field and never repeats what a customer wrote."""
    with pytest.raises(InvalidOrderError) as refused:
        parse_order(json.dumps(order(lines=line(quantity="secret-word"))).encode())
    assert "secret-word" not in str(refused.value)


PIECES = [
    b'"order_id": "o-2", ',
    b'"x": NaN, ',
    b'"x": [{"lines": 1e400}], ',
    b'"order\\u005fid": "o-1", ',
    b" ",
    b"{",
]


@given(st.lists(st.tuples(st.sampled_from(PIECES), st.integers(0, 400)), max_size=3))
def test_the_short_way_accepts_nothing_that_the_long_way_refuses(
    inserted: list[tuple[bytes, int]],
) -> None:
    """For whatever is put into a good order, both parsers agree."""
    raw = value()
    for piece, place in inserted:
        raw = raw[:place] + piece + raw[place:]
    try:
        expected: object = ORDER.validate_python(DECODER.decode(raw.decode()), strict=True)
    except (ValueError, RecursionError):
        expected = InvalidOrderError
    try:
        found: object = parse_order(raw)
    except InvalidOrderError:
        found = InvalidOrderError
    assert found == expected


@pytest.mark.parametrize("key", ["order_id", "customer_id", "placed_at", "lines"])
def test_a_key_given_twice_is_refused(key: str) -> None:
    """A key given twice is refused, even with the same value."""
    again = json.dumps({key: order()[key]}).encode()[1:-1]
    with pytest.raises(InvalidOrderError, match="twice"):
        parse_order(value()[:-1] + b", " + again + b"}")
