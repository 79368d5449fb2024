"""How spans reach a collector, by OpenTelemetry's own settings: in nobody's way.

Whoever hands a span in never waits, and an outage of the collector costs spans and nothing else.
"""

import atexit
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Literal, NamedTuple

from pydantic_settings import BaseSettings

WAITING = 10_000  # spans, some 10 MB; what comes beyond that is dropped
AT_ONCE = 500  # in one request
PAUSE_SECONDS = 1.0  # between two looks at what waits
TELL_SECONDS = 60.0  # between two sentences about dropped spans
LAST_SECONDS = 3.0  # for what waits when the process ends

HTTP = "http/protobuf"
PACKAGES = "opentelemetry-sdk and opentelemetry-exporter-otlp-proto-http"


class CollectorError(Exception):
    """Spans are wanted, and cannot be exported: its sentence says what to set right."""


class CollectorSettings(BaseSettings):
    """Read from the environment; whatever else OpenTelemetry's exporter knows, it reads itself."""

    otel_exporter_otlp_endpoint: str = ""  # such as http://127.0.0.1:4318; without it: no spans
    otel_exporter_otlp_headers: str = ""  # name=value,name=value: how the exporter logs in
    otel_exporter_otlp_protocol: str = HTTP  # the only one
    otel_service_name: str = ""  # instead of the part's own name


class Span(NamedTuple):
    """Something that was done, in somebody's trace; times are nanoseconds since 1970."""

    name: str
    kind: Literal["consumer", "server"]
    trace_id: str
    span_id: str
    parent_id: str
    begun: int
    ended: int
    attributes: Mapping[str, str | int]


Export = Callable[[Sequence[Span]], bool]  # whether the collector has taken them
Tell = Callable[[int], object]  # how many were dropped since it was told the last time


class Collector:
    """Keeps the spans that wait, and sends them from a thread."""

    def __init__(self, export: Export, tell: Tell) -> None:
        self.export = export
        self.tell = tell
        self.waiting: deque[Span] = deque()
        self.dropped = 0  # since that was told
        self.counting = threading.Lock()
        self.told_at = -TELL_SECONDS
        self.is_ending = threading.Event()
        self.thread = threading.Thread(target=self.run, name="spans", daemon=True)

    def start(self) -> "Collector":
        """Send from now on, until the process ends."""
        self.thread.start()
        atexit.register(self.end)
        return self

    def take(self, spans: Iterable[Span]) -> None:
        """Let spans wait to be sent, or drop them if too many wait."""
        for span in spans:
            if len(self.waiting) < WAITING:
                self.waiting.append(span)
            else:
                self.drop(1)

    def drop(self, count: int) -> None:
        """Note that spans will not reach the collector, or fewer of them."""
        with self.counting:
            self.dropped += count

    def run(self) -> None:
        """Send what waits, again and again."""
        while not self.is_ending.wait(PAUSE_SECONDS):
            self.send()
        self.send()

    def send(self) -> None:
        """Send what waits, until nothing does or some are refused; these are not sent again."""
        is_taken = True
        while self.waiting and is_taken:
            count = min(AT_ONCE, len(self.waiting))
            some = [self.waiting.popleft() for _ in range(count)]
            self.drop(count)  # until the collector has them: the process may end before it answers
            is_taken = self.try_export(some)
            if is_taken:
                self.drop(-count)
        self.tell_dropped()

    def try_export(self, spans: Sequence[Span]) -> bool:
        """Return whether the collector has taken the spans; nothing is raised."""
        try:
            return self.export(spans)
        except Exception:  # noqa: BLE001 - whatever it is, spans are all that it may cost
            return False

    def tell_dropped(self) -> None:
        """Say how many spans were dropped, at most once a minute."""
        now = time.monotonic()
        is_early = now - self.told_at < TELL_SECONDS
        if is_early or not self.dropped:
            return
        self.told_at = now
        with self.counting:
            dropped, self.dropped = self.dropped, 0
        self.tell(dropped)

    def end(self) -> None:
        """Send what still waits, but do not hold up the end of the process; say what is lost."""
        self.is_ending.set()
        self.thread.join(LAST_SECONDS)
        lost = self.dropped + len(self.waiting)
        if lost:
            self.tell(lost)


def find_collector(part: str, tell: Tell) -> Collector | None:
    """Return the way to the collector for the spans of this part; None if no setting names one."""
    settings = CollectorSettings()
    if not settings.otel_exporter_otlp_endpoint:
        return None
    refuse_unusable(settings)
    try:
        otlp = import_module("access.otlp")
    except ModuleNotFoundError as error:
        raise CollectorError(
            f"OTEL_EXPORTER_OTLP_ENDPOINT is set, and there is no module {error.name}:"
            f" install {PACKAGES}, or leave the setting out"
        ) from None
    export: Export = otlp.make_export(settings.otel_service_name or part)
    return Collector(export, tell).start()


def refuse_unusable(settings: CollectorSettings) -> None:
    """Refuse what the exporter would fail with at every span."""
    endpoint = settings.otel_exporter_otlp_endpoint
    if not endpoint.startswith(("http://", "https://")):
        raise CollectorError(
            f"OTEL_EXPORTER_OTLP_ENDPOINT={endpoint}: must begin with http:// or https://"
        )
    protocol = settings.otel_exporter_otlp_protocol or HTTP
    if protocol != HTTP:
        raise CollectorError(
            f"OTEL_EXPORTER_OTLP_PROTOCOL={protocol}: spans are sent by {HTTP} alone;"
            " set that, or leave the setting out"
        )
