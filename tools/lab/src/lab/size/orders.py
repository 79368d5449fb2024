"""The orders of the measurements: three lines, and ids that come in no sequence, as UUIDs do."""

from collections.abc import Iterable
from uuid import NAMESPACE_URL, uuid5

from confluent_kafka import Producer

from contract.names import INPUT_TOPIC
from lab.reference_orders import make_value

HALF_FULL = 50_000  # records: half of what the client's queue can hold
FLUSH_SECONDS = 60


def order_id(number: int) -> str:
    """Return the id of an order; the same number has the same id."""
    return str(uuid5(NAMESPACE_URL, f"order/{number}"))


def message_id(number: int) -> str:
    """Return the id of its message."""
    return str(uuid5(NAMESPACE_URL, f"message/{number}"))


def value(number: int) -> bytes:
    """Return the reference order under this id."""
    return make_value(number).replace(f"o-{number}".encode(), order_id(number).encode())


def send(producer: Producer, numbers: Iterable[int]) -> None:
    """Send these orders, and wait until each is acknowledged."""
    for number in numbers:
        producer.produce(
            INPUT_TOPIC,
            key=order_id(number),
            value=value(number),
            headers=[("message_id", message_id(number).encode())],
        )
        is_half_full = len(producer) >= HALF_FULL
        producer.poll(0.1 if is_half_full else 0)
    left = producer.flush(FLUSH_SECONDS)
    assert not left, f"{left} orders were not acknowledged within {FLUSH_SECONDS} s"
