"""/livez, /readyz and /metrics, on a port of their own and in a thread of their own."""

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

Answer = tuple[int, str, bytes]


def serve_health(address: tuple[str, int], is_alive: Callable[[], bool], why_not: Callable[[], str]) -> None:
    """Answer until the process ends; a taken port is an error here and now."""

    def answer(path: str) -> Answer:
        if path == "/metrics":
            return 200, CONTENT_TYPE_LATEST, generate_latest()
        if path == "/livez":
            return plain(is_alive(), "the loop has stopped")
        if path == "/readyz":
            reason = why_not()
            return plain(not reason, reason)
        return plain(False, "only /livez, /readyz and /metrics are here", status=404)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, content_type, body = answer(self.path)
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Probes every few seconds are no news."""

    server = ThreadingHTTPServer(address, Handler)
    threading.Thread(target=server.serve_forever, name="health", daemon=True).start()


def plain(good: bool, reason: str, status: int = 503) -> Answer:
    """A word for a person, a status for a probe."""
    text = "ok" if good else reason
    return (200 if good else status), "text/plain; charset=utf-8", f"{text}\n".encode()
