"""An HTTP server that stands before another for the time of a block; whoever makes it says what becomes of a POST."""

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

import requests

from ops.settings import HOST


class Request(BaseHTTPRequestHandler):
    """One POST, and the way to answer it."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body of an answer are two writes

    def answer(self, status: int, body: bytes, **headers: str) -> None:
        """Head and body, with their length."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


class Front:
    """Listens on a port of its own."""

    def __init__(self, handle: Callable[[Request, bytes], None]) -> None:
        class Handler(Request):
            def do_POST(self) -> None:
                handle(self, self.rfile.read(int(self.headers["Content-Length"])))

        self.server = ThreadingHTTPServer((HOST, 0), Handler)
        self.url = f"http://{HOST}:{self.server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.server.shutdown()
        self.server.server_close()


def forward(url: str) -> Callable[[str, bytes], tuple[int, bytes]]:
    """What the server behind makes of a path and a body: status and body of its answer."""
    http = requests.Session()

    def pass_on(path: str, body: bytes) -> tuple[int, bytes]:
        answer = http.post(
            url + path, body, headers={"Content-Type": "application/json"}, timeout=30
        )
        return answer.status_code, answer.content

    return pass_on
