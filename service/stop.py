"""How the process ends when it is asked to: within a bound, whatever holds it up."""

import faulthandler
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from service.consumer import RecordConsumer

SIGNALS = (signal.SIGTERM, signal.SIGINT)
LEAVE_SECONDS = 5.0  # for leaving the group, which takes milliseconds


class Stop:
    """Whether we are asked to stop, and when the process ends by itself if it has not ended."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.asked = threading.Event()
        self.deadline = float("inf")

    def listen(self) -> None:
        """Wait for a signal in a thread: the main one may be inside a call that takes long.

        Threads that exist already would still take the signal: call this first.
        """
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        threading.Thread(target=self.wait, name="stop", daemon=True).start()

    def wait(self) -> None:
        """Wait for the signal; the batch may then be finished, but not for ever."""
        signal.sigwait(SIGNALS)
        self.asked.set()
        self.end_within(self.seconds)

    def end_within(self, seconds: float) -> None:
        """From now on, end the process after these seconds, or earlier if that was said before."""
        self.end_at(min(self.deadline, time.monotonic() + seconds))

    def end_at(self, deadline: float) -> None:
        """End the process at this time, with exit code 1 and a traceback.

        It ends as kill -9 would end it, which every step survives. Python cannot do this: while
        librdkafka waits for its own threads (in close(), during a rebalance) it holds the lock of
        the interpreter, and no other thread of ours runs.
        """
        self.deadline = deadline
        seconds_left = deadline - time.monotonic()
        faulthandler.dump_traceback_later(max(0.1, seconds_left), exit=True)


@contextmanager
def leaving(consumer: RecordConsumer, stop: Stop) -> Iterator[None]:
    """Leave the group after the block, however it ends, and within a bound."""
    try:
        yield
    finally:
        stop.end_within(stop.seconds)
        deadline = stop.deadline
        stop.end_within(LEAVE_SECONDS)
        consumer.leave()
        stop.end_at(deadline)


def start_anew() -> NoReturn:
    """Replace this process by a new one with the same id, command and environment.

    For what is in progress that is like kill -9, which every step survives. It needs no supervisor,
    and nothing of a client that may hang when it is closed.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 - our own command
