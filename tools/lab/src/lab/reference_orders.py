"""The orders that every measurement sends: three lines each, and nothing unusual."""

import json
from collections.abc import Callable, Iterable, Iterator

from confluent_kafka import Producer

from service.record import Record

Headers = list[tuple[str, bytes | None]]

FIRST = 2_000_000  # the first order's number: every id has the same number of digits
BATCH = 500  # the service's own
HALF_FULL = 50_000  # records: half of what the client's queue can hold


def make_value(number: int) -> bytes:
    """Return the value of one order."""
    order = {
        "order_id": f"o-{number}",
        "customer_id": "c-7",
        "placed_at": "2026-11-21T10:00:00Z",
        "lines": [
            {"sku": "tea-0", "quantity": 2, "unit_price": "12.10"},
            {"sku": "tea-1", "quantity": 2, "unit_price": "12.10"},
            {"sku": "tea-2", "quantity": 2, "unit_price": "12.10"},
        ],
    }
    return json.dumps(order).encode()


def make_headers(number: int) -> Headers:
    """Return the headers of one order."""
    message_id = f"m-{number}"
    return [("message_id", message_id.encode())]


def make_record(number: int) -> Record:
    """Return one order as the consumer gives it."""
    return Record(
        topic="bench",
        partition=0,
        offset=number,
        key=b"",
        value=make_value(number),
        headers=make_headers(number),
    )


def make_batches(orders: int) -> Iterator[list[Record]]:
    """Yield this many orders in batches."""
    for first in range(FIRST, FIRST + orders, BATCH):
        yield [make_record(number) for number in range(first, first + BATCH)]


def send(
    producer: Producer,
    topic: str,
    numbers: Iterable[int],
    value: Callable[[int], bytes] = make_value,
) -> None:
    """Send these orders and wait until each is acknowledged."""
    for number in numbers:
        producer.produce(
            topic,
            key=f"o-{number}",
            value=value(number),
            headers=list(make_headers(number)),
        )
        is_half_full = len(producer) >= HALF_FULL
        producer.poll(0.1 if is_half_full else 0)
    left = producer.flush(60)
    assert left == 0, f"{topic}: {left} records not acknowledged within 60 s, see the broker's log"
