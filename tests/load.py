"""Good orders, sent at once, or coming for as long as something else is done."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.builders import value
from tests.client import TOPIC, Sent, fresh, send, until


def orders(count: int, topic: str = TOPIC) -> list[str]:
    """Send so many good orders, and return their message ids."""
    prefix = fresh("good")
    ids = [f"{prefix}-{n}" for n in range(count)]
    send([Sent(i, i, value(i)) for i in ids], topic)
    return ids


@contextmanager
def load(bursts: int = 100, pause: float = 0) -> Iterator[list[str]]:
    """Orders that keep coming, in another thread, while the block does its harm; at most so many bursts."""
    sent: list[str] = []
    done = threading.Event()

    def keep_sending() -> None:
        for _ in range(bursts):
            sent.extend(orders(20))
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
