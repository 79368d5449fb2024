"""Ctrl-C, SIGTERM and SIGHUP, heard at once or, where a step must not be parted, right after it."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
held: list[int] = []  # one entry for each block that is being protected
came: list[int] = []  # what was put off meanwhile


def hear_interrupts() -> None:
    """Make each of them a KeyboardInterrupt, so that what was begun is also put away."""
    if threading.current_thread() is threading.main_thread():
        for number in SIGNALS:
            if signal.getsignal(number) != signal.SIG_IGN:  # nohup means it
                signal.signal(number, on_signal)


def on_signal(number: int, _frame: FrameType | None) -> None:
    """Interrupt, or remember to."""
    if held:
        came.append(number)
    else:
        raise KeyboardInterrupt


@contextmanager
def undisturbed() -> Iterator[None]:
    """Put interrupts off until the block is through.

    Handlers stay installed throughout: swapping them would leave a moment in which a signal does harm.
    """
    held.append(1)
    try:
        yield
    finally:
        held.pop()
        if came and not held:
            came.clear()
            raise KeyboardInterrupt
