"""Spans on their way to a collector: bounded, counted, and in nobody's way."""

import subprocess
import sys
import threading
import time
from collections.abc import Sequence

import pytest

from access import collector as collector_module
from access.collector import (
    AT_ONCE,
    TELL_SECONDS,
    WAITING,
    Collector,
    CollectorError,
    Span,
    find_collector,
)
from tests.unit.compose_file import ROOT

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
SPAN = Span("something", "consumer", "a" * 32, "b" * 16, "c" * 16, 1, 2, {"n": 1})
PARTS = "import service.__main__, service.audit.app, service.audit.spans, spark.land"


class Told(list[int]):
    """How many spans were dropped, each time that somebody is told."""

    def __call__(self, count: int) -> None:
        """Keep it."""
        self.append(count)


def refuse(_spans: Sequence[Span]) -> bool:
    """Take no span."""
    return False


def test_everything_is_sent_in_parts_and_in_sequence() -> None:
    """No request is larger than a collector takes."""
    sent: list[Sequence[Span]] = []

    def take(spans: Sequence[Span]) -> bool:
        sent.append(spans)
        return True

    collector = Collector(take, Told())
    spans = [SPAN._replace(begun=n) for n in range(AT_ONCE + 1)]
    collector.take(spans)
    collector.send()
    assert [len(some) for some in sent] == [AT_ONCE, 1]
    assert [span for some in sent for span in some] == spans


def test_what_waits_is_bounded_and_what_is_dropped_is_told() -> None:
    """A collector that takes nothing costs memory for so many spans, and not for more."""
    told = Told()
    collector = Collector(refuse, told)
    collector.take([SPAN] * (WAITING + 7))
    assert len(collector.waiting) == WAITING
    collector.send()
    assert told == [AT_ONCE + 7], "after one refusal the others wait for the next look"
    assert len(collector.waiting) == WAITING - AT_ONCE


def test_an_outage_is_told_once_a_minute() -> None:
    """The next sentence has the sum of the minute."""
    told = Told()
    collector = Collector(refuse, told)
    for _ in range(3):
        collector.take([SPAN])
        collector.send()
    assert told == [1]
    collector.told_at -= TELL_SECONDS
    collector.send()
    assert told == [1, 2]


def test_whatever_the_exporter_raises_costs_the_spans_alone() -> None:
    """The thread goes on."""

    def fail(_spans: Sequence[Span]) -> bool:
        raise RuntimeError("no such thing")

    told = Told()
    collector = Collector(fail, told)
    collector.take([SPAN])
    collector.send()
    assert told == [1]


def test_nobody_waits_for_a_collector_that_hangs() -> None:
    """Handing in ten thousand spans takes no time while a request does not end."""
    goes_on = threading.Event()

    def hang(_spans: Sequence[Span]) -> bool:
        return goes_on.wait(30)

    collector = Collector(hang, Told())
    collector.take([SPAN])
    thread = threading.Thread(target=collector.send)
    thread.start()
    begun = time.monotonic()
    collector.take([SPAN] * WAITING)
    seconds = time.monotonic() - begun
    goes_on.set()
    thread.join(30)
    assert seconds < 1


def test_what_is_lost_at_the_end_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process does not wait for a request that does not end, nor for what is behind it."""
    monkeypatch.setattr(collector_module, "LAST_SECONDS", 0.1)
    monkeypatch.setattr(collector_module, "PAUSE_SECONDS", 0.01)
    begun, goes_on = threading.Event(), threading.Event()

    def hang(_spans: Sequence[Span]) -> bool:
        begun.set()
        return goes_on.wait(30)

    told = Told()
    collector = Collector(hang, told).start()
    collector.take([SPAN])
    assert begun.wait(30)
    collector.take([SPAN] * 2)
    collector.end()
    assert told == [3]
    goes_on.set()
    collector.thread.join(30)


def run_python(code: str) -> str:
    """Run this code in a process of its own; return what it prints."""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_without_the_setting_nothing_of_opentelemetry_is_imported() -> None:
    """Nor does a thread run; control: with it, the packages are there."""
    look = (
        f"{PARTS}, sys, os, threading; from access.collector import find_collector;"
        "found = find_collector('x', print); names = [one.name for one in threading.enumerate()];"
        "print(found is None, 'opentelemetry' in sys.modules, 'spans' in names); os._exit(0)"
    )
    without = f"import os; os.environ.pop({ENDPOINT!r}, None); {look}"
    with_it = f"import os; os.environ[{ENDPOINT!r}] = 'http://127.0.0.1:1'; {look}"
    flush = "; import sys; sys.stdout.reconfigure(line_buffering=True); "
    assert run_python(f"pass{flush}{without}") == "True False False"
    assert run_python(f"pass{flush}{with_it}") == "False True True"


def test_a_missing_package_is_named_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A setting that nothing can follow ends the process with one sentence."""
    monkeypatch.setenv(ENDPOINT, "http://127.0.0.1:4318")
    monkeypatch.delitem(sys.modules, "access.otlp", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(CollectorError, match=rf"{ENDPOINT} is set.*install opentelemetry-sdk"):
        find_collector("x", Told())


@pytest.mark.parametrize(
    ("name", "text"),
    [(ENDPOINT, "127.0.0.1:4318"), ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")],
)
def test_a_setting_that_cannot_work_is_refused(
    monkeypatch: pytest.MonkeyPatch, name: str, text: str
) -> None:
    """It is named with its value, before any span is lost."""
    monkeypatch.setenv(ENDPOINT, "http://127.0.0.1:4318")
    monkeypatch.setenv(name, text)
    with pytest.raises(CollectorError, match=f"{name}={text}: "):
        find_collector("x", Told())
