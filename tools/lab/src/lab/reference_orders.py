"""The orders that every measurement sends: three lines each, and nothing unusual."""

import json
from collections.abc import Callable, Iterable, Iterator

from confluent_kafka import Producer

from service.record import Record

FIRST = 2_000_000  # the first order's number: every id has the same number of digits
BATCH = 500  # the service's own
HALF_FULL = 50_000  # records: half of what the client's queue can hold


def make_value(number: int) -> bytes:
    """Return the value of one order."""
    lines = [{"sku": f"tea-{n}", "quantity": 2, "unit_price": "12.10"} for n in range(3)]
    order = {
        "order_id": f"o-{number}",
        "customer_id": "c-7",
        "placed_at": "2026-11-21T10:00:00Z",
        "lines": lines,
    }
    return json.dumps(order).encode()


def make_record(number: int) -> Record:
    """Return one order as the consumer gives it."""
    headers: list[tuple[str, bytes | None]] = [("message_id", f"m-{number}".encode())]
    return Record("bench", 0, number, b"", make_value(number), headers)


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
        headers: list[tuple[str, str | bytes | None]] = [("message_id", f"m-{number}".encode())]
        producer.produce(topic, value(number), f"o-{number}", headers=headers)
        is_half_full = len(producer) >= HALF_FULL
        producer.poll(0.1 if is_half_full else 0)
    left = producer.flush(60)
    assert left == 0, f"{topic}: {left} records not acknowledged within 60 s, see the broker's log"
