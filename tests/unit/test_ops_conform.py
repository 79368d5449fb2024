"""The conformance suite, against receivers of another make: one is right, the others are not."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from uuid import uuid4

import pytest

from ops.conform.checks import CHECKS
from ops.conform.command import conform, lines, read_body, read_headers
from ops.conform.exchange import Receiver
from ops.stack.supervisor import StackError

WORK_SECONDS = 0.01  # between the look whether a key is known and the note that it is


class Receipts:
    """A receiver that answers each receipt with an id; a fault may be built in."""

    def __init__(self, fault: str) -> None:
        self.fault = fault
        self.lock = threading.Lock()
        self.known: dict[str, tuple[bytes, bytes]] = {}

    def answer(self, key: str | None, body: bytes) -> tuple[int, bytes]:
        """Return the status and the document."""
        if self.fault == "takes nothing":
            return 404, b"{}"
        if key is None and self.fault != "needs no key":
            return 400, b'{"detail": "Idempotency-Key is missing"}'
        if self.fault == "has no lock":
            return self.record(str(key), body)
        with self.lock:
            return self.record(str(key), body)

    def record(self, key: str, body: bytes) -> tuple[int, bytes]:
        """Do the work once for each key."""
        if key in self.known and self.fault != "forgets":
            before, document = self.known[key]
            if before != body and self.fault != "ignores the body":
                return 422, b'{"detail": "used with another body"}'
            return 200, document
        time.sleep(WORK_SECONDS)
        receipt = "one for all" if self.fault == "has one answer" else str(uuid4())
        document = json.dumps({"receipt": receipt}).encode()
        self.known[key] = (body, document)
        return 201, document


@contextmanager
def receiving(fault: str) -> Iterator[str]:
    """Run one, and yield its address."""
    receipts = Receipts(fault)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            key = self.headers["Idempotency-Key"]
            status, document = receipts.answer(key, body)
            with suppress(OSError):  # nobody waits for it
                self.send_response(status)
                self.send_header("Content-Length", str(len(document)))
                self.end_headers()
                self.wfile.write(document)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/receipts"
    finally:
        server.shutdown()
        server.server_close()


def failures(fault: str) -> set[str]:
    """Return the checks that a receiver with this fault fails."""
    body = '{"order": "{id}", "amount": "1.00"}'
    with receiving(fault) as url:
        return {result.name for result in conform(Receiver(url, body, {})) if not result.ok}


def test_a_receiver_that_is_right_conforms() -> None:
    """It is of another make, and takes other bodies."""
    assert failures("none") == set()


FAULTS = {
    "forgets": {"repeat", "other body", "at once", "lost answer"},
    "ignores the body": {"other body", "lost answer"},
    "needs no key": {"no key"},
    "has no lock": {"at once"},
    "has one answer": {"keys"},
}


@pytest.mark.parametrize(("fault", "failed"), FAULTS.items())
def test_each_fault_is_found(fault: str, failed: set[str]) -> None:
    """By the check that is for it, and by no other that is not."""
    assert failures(fault) == failed


def test_each_check_can_fail() -> None:
    """Of each but the first some receiver here fails it."""
    assert set().union(*FAULTS.values()) == {check.name for check in CHECKS} - {"first"}


def test_a_receiver_that_takes_nothing_is_asked_once() -> None:
    """Its other answers would say the same. One that is not there is an error."""
    with receiving("takes nothing") as url:
        found = list(conform(Receiver(url, '{"id": "{id}"}', {})))
    assert [(result.name, result.ok) for result in found] == [("first", False)]
    silent = Receiver("http://127.0.0.1:9", '{"id": "{id}"}', {})
    with pytest.raises(StackError, match="does not answer"):
        list(conform(silent))


def test_the_report_says_what_was_seen() -> None:
    """A line for each check, what was seen below one that failed, and the verdict."""
    with receiving("needs no key") as url:
        report = list(lines(list(conform(Receiver(url, '{"id": "{id}"}', {})))))
    assert report[-1] == "verdict: not idempotent: no key"
    assert any("without a key: 201" in line for line in report)


def test_what_is_posted_must_have_a_place_for_an_id(tmp_path: Path) -> None:
    """Else every request would be the same one."""
    file = tmp_path / "body.json"
    file.write_text('{"order": "1"}')
    with pytest.raises(StackError, match="where an id belongs"):
        read_body(file)
    file.write_text('{"order": "{id}"')
    with pytest.raises(StackError, match="is no JSON"):
        read_body(file)
    with pytest.raises(StackError, match="is no header"):
        read_headers(["Bearer x"])
