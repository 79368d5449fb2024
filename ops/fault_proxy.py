"""An HTTP server for the time of a block; a function decides how each POST is answered."""

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

import requests

from ops.settings import HOST

TIMEOUT = 30

Post = Callable[[str, bytes], tuple[int, bytes]]


class Request(BaseHTTPRequestHandler):
    """One POST, and the way to answer it."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body of an answer are two writes

    def answer(self, status: int, body: bytes, **headers: str) -> None:
        """Send head and body, with their length."""
        self.send_response(status)
        for name, value in headers.items():
            header = name.replace("_", "-")
            self.send_header(header, value)
        length = str(len(body))
        self.send_header("Content-Length", length)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


class StubServer:
    """Listens on a port of its own and hands each POST with its body to `handle`."""

    def __init__(self, handle: Callable[[Request, bytes], None]) -> None:
        class Handler(Request):
            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                body = self.rfile.read(length)
                handle(self, body)

        self.server = ThreadingHTTPServer((HOST, 0), Handler)
        self.url = f"http://{HOST}:{self.server.server_port}"

    def __enter__(self) -> Self:
        thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.server.shutdown()
        self.server.server_close()


def forward(url: str) -> Post:
    """Return a function that posts a body to a path of the real server, for status and body."""
    http = requests.Session()
    headers = {"Content-Type": "application/json"}

    def post(path: str, body: bytes) -> tuple[int, bytes]:
        answer = http.post(
            url + path,
            body,
            headers=headers,
            timeout=TIMEOUT,
        )
        return answer.status_code, answer.content

    return post
