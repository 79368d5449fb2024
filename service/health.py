"""/livez, /readyz and /metrics, on a port of their own and in a thread of their own."""

import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client import generate_latest
from sqlalchemy import Engine

from service.consumer import OrderConsumer
from service.database import is_reachable
from service.settings import Settings


def serve_health(settings: Settings, engine: Engine, consumer: OrderConsumer) -> None:
    """Answer until the process ends; a taken port is an error here and now."""

    def answer(path: str) -> tuple[int, str]:
        silent = time.monotonic() - consumer.last_poll
        if path == "/metrics":
            return 200, generate_latest().decode()
        if path not in ("/livez", "/readyz"):
            return 404, "only /livez, /readyz and /metrics are here\n"
        if silent > (settings.poll_recent_seconds if path == "/readyz" else settings.max_poll_interval_ms / 1000):
            return 503, f"the last poll was {silent:.0f} seconds ago\n"
        if path == "/readyz" and not is_reachable(engine):
            return 503, "the database does not answer\n"
        return 200, "ok\n"

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, text = answer(self.path)
            self.send_response(status)
            self.send_header("Content-Type", "text/plain; version=1.0.0; charset=utf-8")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            """Probes every few seconds are no news."""

    server = ThreadingHTTPServer((settings.service_host, settings.service_port), Handler)
    threading.Thread(target=server.serve_forever, name="health", daemon=True).start()
