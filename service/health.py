"""/livez, /readyz and /metrics, on a port of their own and in a thread of their own."""

import threading
import time
from collections.abc import Callable
from http.server import ThreadingHTTPServer
from types import ModuleType
from typing import NamedTuple

from prometheus_client import MetricsHandler
from sqlalchemy import Engine

from service.consumer import RecordConsumer
from service.database import is_reachable
from service.dedup import load_store
from service.settings import Settings


class Health(NamedTuple):
    """What the answers depend on."""

    settings: Settings
    engine: Engine
    consumer: RecordConsumer
    store: ModuleType

    def answer(self, path: str) -> tuple[int, str]:
        """Return the status and the text for a path."""
        if path == "/livez":
            reason = self.reason_to_restart()
        elif path == "/readyz":
            reason = self.reason_not_ready()
        else:
            return self.answer_of_store(path)
        if reason:
            return 503, f"{reason}\n"
        return 200, "ok\n"

    def reason_to_restart(self) -> str:
        """Return why this process will not go on by itself; an outage is no reason."""
        longest = self.settings.max_poll_interval_ms / 1000
        silence = self.too_silent(longest)
        if silence:
            return silence
        progress = self.consumer.progress
        is_outage = self.consumer.idling or not progress.broker_answers
        return "" if is_outage else progress.stuck(self.settings.input_topic, longest)

    def reason_not_ready(self) -> str:
        """Return why no record is handled at the moment."""
        silence = self.too_silent(self.settings.poll_recent_seconds)
        if silence:
            return silence
        if not is_reachable(self.engine):
            return "the database does not answer"
        if self.consumer.waits_for:
            return self.consumer.waits_for
        progress = self.consumer.progress
        if not progress.broker_answers:
            return "the broker does not answer"
        return progress.stuck(self.settings.input_topic, self.settings.stuck_seconds)

    def too_silent(self, longest: float) -> str:
        """Return a sentence if the last poll is longer ago than that."""
        silence = time.monotonic() - self.consumer.last_poll
        return f"the last poll was {silence:.0f} seconds ago" if silence > longest else ""

    def answer_of_store(self, path: str) -> tuple[int, str]:
        """Return what the dedup store has on this path."""
        has_pages = hasattr(self.store, "page")
        found = self.store.page(self.engine, path) if has_pages else None
        return found or (404, "only /livez, /readyz and /metrics are here\n")


def serve_health(settings: Settings, engine: Engine, consumer: RecordConsumer) -> None:
    """Answer until the process ends; a port that is taken raises here and now."""
    store = load_store(settings.dedup_store)
    health = Health(settings, engine, consumer, store)
    serve(settings.service_host, settings.service_port, health.answer)


def serve(host: str, port: int, answer: Callable[[str], tuple[int, str]]) -> None:
    """Answer with a status and a text for each path, and with the metrics for theirs."""

    class Handler(MetricsHandler):
        def do_GET(self) -> None:  # noqa: N802 - http.server's name
            if self.path == "/metrics":
                super().do_GET()
                return
            status, text = answer(self.path)
            content_type = "application/json" if text.startswith("{") else "text/plain"
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.end_headers()
            self.wfile.write(text.encode())

    server = ThreadingHTTPServer((host, port), Handler)
    threading.Thread(target=server.serve_forever, name="health", daemon=True).start()
