"""Good orders, sent at once or continuously while something else happens."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.builders import value
from tests.client import TOPIC, Sent, fresh, send, until


def orders(count: int, topic: str = TOPIC) -> list[str]:
    """Send this many good orders, and return their message ids."""
    prefix = fresh("good")
    ids = [f"{prefix}-{n}" for n in range(count)]
    send([Sent(i, i, value(i)) for i in ids], topic)
    return ids


@contextmanager
def load(bursts: int = 100, pause: float = 0, topic: str = TOPIC) -> Iterator[list[str]]:
    """Send orders from another thread while the block runs; at most this many bursts."""
    sent: list[str] = []
    done = threading.Event()

    def keep_sending() -> None:
        for _ in range(bursts):
            sent.extend(orders(20, topic))
            if done.wait(pause):
                return

    thread = threading.Thread(target=keep_sending)
    thread.start()
    try:
        until(lambda: len(sent), lambda count: count > 20, 30, "no order was sent")
        yield sent
    finally:
        done.set()
        thread.join()
