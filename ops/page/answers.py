"""Asks one part again and again, in a thread of its own: a part that hangs holds up nobody else."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import psycopg
import requests
from confluent_kafka import KafkaException

from ops.stack.supervisor import StackError

LATE_SECONDS = 6.0  # beyond its pause: whoever has not answered by then does not answer now
FAILURES = (psycopg.Error, requests.RequestException, KafkaException, StackError, OSError)

T = TypeVar("T")


@dataclass
class Answers(Generic[T]):
    """What a part has said last, and when; what it cannot say now, and why.

    `ask` raises, or returns None, if there is no answer.
    """

    ask: Callable[[], T | None]
    pause: float  # seconds between two questions
    latest: T | None = None
    at: float = 0.0  # of the latest, on the clock of time.monotonic
    failure: str = ""  # since then; empty: it did answer
    began: float = field(default_factory=time.monotonic)

    def ask_once(self) -> None:
        """Take in the next answer, or why there is none."""
        try:
            found = self.ask()
        except FAILURES as failure:
            first, *_ = [*str(failure).splitlines(), type(failure).__name__]
            self.failure = first
        except Exception as defect:  # noqa: BLE001 - the page says it, and goes on with the others
            self.failure = f"{type(defect).__name__}: {defect}"
        else:
            if found is None:
                self.failure = "it does not answer"
                return
            self.latest, self.at, self.failure = found, time.monotonic(), ""

    def keep_asking(self, stopping: threading.Event) -> None:
        """Ask until it is time to stop."""
        while not stopping.is_set():
            self.ask_once()
            stopping.wait(self.pause)

    def now(self, clock: float) -> T | None:
        """Return the latest answer, if it is of now."""
        return None if self.failure or self.is_late(clock) else self.latest

    def is_late(self, clock: float) -> bool:
        """Return whether the next answer should be there, and is not."""
        since = self.at or self.began
        return clock - since > self.pause + LATE_SECONDS

    def is_awaited(self) -> bool:
        """Return whether there was no answer yet, and no failure: it is being asked first."""
        return not self.at and not self.failure

    def age(self, clock: float) -> float:
        """Return the seconds since the latest answer."""
        return clock - self.at
