"""The conformance suite, against receivers of another make: one is right, the others are not."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import pytest

from ops.conform.checks import CHECKS, Result
from ops.conform.command import as_json, conform, lines, read_body, read_headers
from ops.conform.exchange import Receiver
from ops.stack.supervisor import StackError

LIFETIME = 3600.0  # seconds for which these receivers say that they keep a key
WORK_SECONDS = 0.01  # between the look whether a key is known and the note that it is
COMPANY_SECONDS = 0.2  # so long a request waits for another with its key, where nothing is locked


class Clock:
    """Time that passes when somebody waits."""

    def __init__(self) -> None:
        self.now = 0.0

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds


class Known(NamedTuple):
    """What a receiver remembers of a request."""

    body: Any
    document: dict[str, Any]
    since: float


class Receipts:
    """A receiver that answers each receipt with an id; a fault may be built in."""

    def __init__(self, fault: str, clock: Clock) -> None:
        self.fault = fault
        self.clock = clock
        self.lock = threading.Lock()
        self.known: dict[str, Known] = {}
        self.at_work: dict[str, threading.Barrier] = {}

    def answer(self, path: str, key: str | None, body: Any) -> tuple[int, dict[str, Any]]:
        """Return the status and the document."""
        if path.endswith("/batch"):
            return self.answer_batch(body["items"])
        return self.answer_one(key, body)

    def answer_one(self, key: str | None, body: Any) -> tuple[int, dict[str, Any]]:
        """Return status and document for one entry."""
        if self.fault == "takes nothing":
            return 404, {}
        if key is None and self.fault != "needs no key":
            return 400, {"detail": "Idempotency-Key is missing"}
        if self.fault == "has no lock":
            return self.record(str(key), body)
        with self.lock:
            return self.record(str(key), body)

    def answer_batch(self, items: list[dict[str, Any]]) -> tuple[int, dict[str, Any]]:
        """Return status and document for several entries."""
        if self.fault == "answers a batch as one":
            return 200, {"taken": len(items)}
        keys = [item["idempotency_key"] for item in items]
        answers = []
        for place, item in enumerate(items):
            key = keys[place]
            known_as = f'"{key}"' if key else None
            if self.fault == "knows entries by their place":
                known_as = f"{place} of {keys}"
            elif self.fault == "keeps the keys of a batch to itself" and key:
                known_as = f"{key} of a batch"
            elif self.fault == "looks before a batch, and not within" and key in keys[:place]:
                self.known.pop(str(known_as))
            status, document = self.answer_one(known_as, item["body"])
            answers.append({"idempotency_key": key, "status": status, "body": document})
        if self.fault == "takes a batch anew":
            self.known.clear()
        if self.fault == "takes all or nothing":
            worst = max(answer["status"] for answer in answers)
            if worst >= 400:
                return worst, {}
        return 200, {"items": answers}

    def record(self, key: str, body: Any) -> tuple[int, dict[str, Any]]:
        """Do the work once for each key, as long as it is kept."""
        found = self.find(key)
        if found and self.fault != "forgets":
            if self.has_expired(found):
                return self.answer_half_known(found)
            if found.body != body and self.fault != "ignores the body":
                return 422, {"detail": "used with another body"}
            return 200, found.document
        if self.fault == "has no lock":
            self.wait_for_company(key)
        else:
            time.sleep(WORK_SECONDS)
        receipt = "one for all" if self.fault == "has one answer" else str(uuid4())
        document = {"receipt": receipt}
        self.known[key] = Known(body, document, self.clock.now)
        return 201, document

    def wait_for_company(self, key: str) -> None:
        """Wait until another request with the key is at work too, if one comes soon."""
        both = self.at_work.setdefault(key, threading.Barrier(2))
        with suppress(threading.BrokenBarrierError):
            both.wait(COMPANY_SECONDS)

    def find(self, key: str) -> Known | None:
        """Return what is known of a key; one that has expired is not, if there is no fault."""
        found = self.known.get(key)
        if found and self.has_expired(found) and not self.fault.startswith("half knows"):
            del self.known[key]
            return None
        return found

    def has_expired(self, known: Known) -> bool:
        """Return whether a key has been kept as long as it should be."""
        lifetime = LIFETIME / 2 if self.fault == "forgets too soon" else LIFETIME
        return self.clock.now - known.since >= lifetime

    def answer_half_known(self, known: Known) -> tuple[int, dict[str, Any]]:
        """Answer as one that has deleted a part of what it noted of a key."""
        if self.fault == "half knows an expired key: its answer":
            return 200, known.document
        if self.fault == "half knows an expired key: that it was used":
            return 201, {"receipt": str(uuid4())}
        return 500, {}


@contextmanager
def receiving(fault: str, clock: Clock | None = None) -> Iterator[str]:
    """Run one, and yield its address."""
    receipts = Receipts(fault, clock or Clock())

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            key = self.headers["Idempotency-Key"]
            status, answer = receipts.answer(self.path, key, body)
            document = json.dumps(answer).encode()
            with suppress(OSError):  # nobody waits for it
                self.send_response(status)
                self.send_header("Content-Length", str(len(document)))
                self.end_headers()
                self.wfile.write(document)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/receipts"
    finally:
        server.shutdown()
        server.server_close()


def results(fault: str, **options: Any) -> list[Result]:
    """Return what the checks find of a receiver with this fault."""
    body = '{"order": "{id}", "amount": "1.00"}'
    clock = Clock()
    with receiving(fault, clock) as url:
        asked: dict[str, Any] = {
            "batch_url": f"{url}/batch",
            "expires_after": LIFETIME,
            "wait": clock.wait,
        }
        return list(conform(Receiver(url, body, {}, **(asked | options))))


def failures(fault: str) -> set[str]:
    """Return the checks that a receiver with this fault fails."""
    return {result.name for result in results(fault) if not result.ok}


def test_a_receiver_that_is_right_conforms() -> None:
    """It is of another make, and takes other bodies."""
    assert failures("none") == set()


FAULTS = {
    "forgets": {
        "repeat",
        "other body",
        "at once",
        "lost answer",
        "batch twice",
        "batch bad",
        "batch again",
        "batch split",
        "kept",
        "expired",
    },
    "ignores the body": {"other body", "lost answer", "batch bad", "kept", "expired"},
    "needs no key": {"no key"},
    "has no lock": {"at once"},
    "has one answer": {"keys", "batch", "expired"},
    "answers a batch as one": {"batch", "batch twice", "batch bad", "batch again", "batch split"},
    "looks before a batch, and not within": {"batch twice"},
    "takes all or nothing": {"batch bad"},
    "takes a batch anew": {"batch bad", "batch again", "batch split"},
    "knows entries by their place": {"batch twice", "batch bad", "batch split"},
    "keeps the keys of a batch to itself": {"batch split"},
    "forgets too soon": {"kept"},
    "half knows an expired key: nothing that it can answer": {"expired"},
    "half knows an expired key: its answer": {"expired"},
    "half knows an expired key: that it was used": {"expired"},
}


@pytest.mark.parametrize(("fault", "failed"), FAULTS.items())
def test_each_fault_is_found(fault: str, failed: set[str]) -> None:
    """By the check that is for it, and by no other that is not."""
    assert failures(fault) == failed


def test_each_check_can_fail() -> None:
    """Of each but the first some receiver here fails it."""
    assert set().union(*FAULTS.values()) == {check.name for check in CHECKS} - {"first"}


def test_a_key_that_has_expired_before_needs_no_waiting() -> None:
    """It is given; whether keys are kept as long as they should is then not checked."""
    clock = Clock()
    with receiving("half knows an expired key: its answer", clock) as url:
        receiver = Receiver(url, '{"id": "{id}"}', {}, wait=clock.wait)
        key, body = receiver.fresh()
        receiver.post(key, body)
        clock.wait(LIFETIME)
        found = {result.name: result for result in conform(replace(receiver, expired_key=key))}
    assert not found["expired"].ok
    assert found["kept"].missing == "--expires-after"


def test_what_was_not_checked_is_said() -> None:
    """Without the options for batches and for expiry the verdict does not speak of them."""
    found = results("none", batch_url=None, expires_after=None)
    names = {result.name for result in found if result.missing}
    assert names == {"batch", "batch twice", "batch bad", "batch again", "batch split"} | {
        "kept",
        "expired",
    }
    *report, verdict = lines(found)
    assert any(line.endswith("not checked: give --batch") for line in report)
    assert verdict.startswith("verdict: conforms; not checked: batch, batch twice, ")
    assert [one["checked"] for one in as_json(found)].count(False) == len(names)


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
    assert report[-1].startswith("verdict: not idempotent: no key; not checked: batch, ")
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
