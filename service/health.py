"""/livez, /readyz and /metrics, on a port of their own and in a thread of their own."""

import threading
import time
from http.server import ThreadingHTTPServer

from prometheus_client import MetricsHandler
from sqlalchemy import Engine

from service.consumer import RecordConsumer
from service.database import is_reachable
from service.dedup import load_store
from service.settings import Settings


def serve_health(settings: Settings, engine: Engine, consumer: RecordConsumer) -> None:
    """Answer until the process ends; a port that is taken raises here and now."""
    store = load_store(settings.dedup_store)
    longest_silence = {
        "/livez": settings.max_poll_interval_ms / 1000,
        "/readyz": settings.poll_recent_seconds,
    }

    def answer(path: str) -> tuple[int, str]:
        if path not in longest_silence:
            return answer_of_store(path)
        silence = time.monotonic() - consumer.last_poll
        if silence > longest_silence[path]:
            return 503, f"the last poll was {silence:.0f} seconds ago\n"
        if path == "/livez":
            return 200, "ok\n"
        if not is_reachable(engine):
            return 503, "the database does not answer\n"
        if consumer.waits_for:
            return 503, f"{consumer.waits_for}\n"
        return 200, "ok\n"

    def answer_of_store(path: str) -> tuple[int, str]:
        found = store.page(engine, path) if hasattr(store, "page") else None
        return found or (404, "only /livez, /readyz and /metrics are here\n")

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

    server = ThreadingHTTPServer((settings.service_host, settings.service_port), Handler)
    threading.Thread(target=server.serve_forever, name="health", daemon=True).start()
