"""Ctrl-C, SIGTERM and SIGHUP: obeyed at once or, within a step that must stay whole, after it."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
protected: list[int] = []  # one entry for each block that is being protected
postponed: list[int] = []  # the signals that came meanwhile


def hear_interrupts() -> None:
    """Make each of them a KeyboardInterrupt, so that what was begun is also put away."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:  # nohup means it
            signal.signal(number, on_signal)


def on_signal(number: int, _frame: FrameType | None) -> None:
    """Interrupt, or remember to."""
    if not protected:
        raise KeyboardInterrupt
    postponed.append(number)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Postpone interrupts until the end of the block.

    Handlers stay installed throughout: swapping them would leave a moment in which a signal
    does harm.
    """
    protected.append(1)
    try:
        yield
    finally:
        protected.pop()
        if postponed and not protected:
            postponed.clear()
            raise KeyboardInterrupt
