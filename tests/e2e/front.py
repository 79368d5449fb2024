"""A receiver that stands in front of the real one, and fails in one way, so many times, before it obeys."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

import requests


class Front:
    """Passes POSTs on; the first few in its own way."""

    def __init__(self, real_url: str, fault: str, times: int) -> None:
        self.real_url, self.fault, self.times = real_url, fault, times
        self.failed = 0
        front = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if front.failed < front.times:
                    front.failed += 1
                    front.fail(self, body)
                else:
                    self.answer(*front.real(self.path, body))

            def answer(self, status: int, body: bytes, **headers: str) -> None:
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def real(self, path: str, body: bytes) -> tuple[int, bytes]:
        """What the real receiver answers."""
        answer = requests.post(self.real_url + path, body, timeout=10)
        return answer.status_code, answer.content

    def fail(self, request: Any, body: bytes) -> None:
        """Answer in the way of the fault."""
        if self.fault == "429":
            request.answer(429, b"{}", Retry_After="1")
        elif self.fault == "redirect":
            request.answer(307, b"", Location="http://127.0.0.1:1/elsewhere")
        elif self.fault == "lost answer":
            self.real(request.path, body)  # the effect has happened; nobody is told
            request.connection.close()
            request.close_connection = True
        elif self.fault == "garbage":
            self.real(request.path, body)
            request.answer(200, b"<html>all fine</html>")
        elif self.fault == "endless":
            request.send_response(200)
            request.send_header("Content-Length", str(10**12))
            request.end_headers()
            request.wfile.write(b"[" * 100_000)
            request.close_connection = True
        elif self.fault == "refuse one":
            status, raw = self.real(request.path, body)
            answer = json.loads(raw)
            detail = "Idempotency-Key: already used with another body"
            answer["items"][0] |= {"status": 422, "body": {"detail": detail}}
            request.answer(status, json.dumps(answer).encode())
        else:
            request.answer(int(self.fault), b"{}")

    def __enter__(self) -> Self:
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.server.shutdown()
        self.server.server_close()
