"""What the status of a part says when it is not ready."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from ops.stack.part import answers


class NotReady(BaseHTTPRequestHandler):
    """A part that waits, and says why."""

    def do_GET(self) -> None:
        """Answer as /readyz does in an outage."""
        self.send_response(503)
        self.end_headers()
        self.wfile.write(b"the database refuses good messages\nand more\n")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def url() -> Iterator[str]:
    """Where the part answers."""
    server = HTTPServer(("127.0.0.1", 0), NotReady)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/readyz"
    server.shutdown()
    server.server_close()


def test_a_part_that_is_not_ready_says_why(url: str) -> None:
    """The first line of its answer is shown, so that nobody has to ask it by hand."""
    assert answers(url) == f"{url} answers 503: the database refuses good messages"
    assert answers(url, expected=503) == ""
    nobody = url.replace("http://127.0.0.1", "http://127.0.0.2")
    assert "ConnectionError" in answers(nobody)
