"""The idempotent POST, against HTTP servers that answer in every way."""

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from access.audit import AuditAccess
from contract.events import ACCEPTED
from contract.trace import Trace
from ops.fault_proxy import Request, StubServer
from service.audit.entry import KEY_HEADER
from service.handler import split_conflicts
from service.outage import OutageError
from service.post import (
    Answers,
    AuditItem,
    Entry,
    Failure,
    RefusedRequestError,
    make_item,
    post_all,
    post_batch,
    post_single,
)
from service.record import Message
from service.request import Receiver, Response, connect, retry_after_seconds
from tests.builders import record

DETAIL = "total: should be smaller"
NOON = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
REFUSAL = Response(400, b"{}", retry_after=0)
MANY = 1000
PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


class Received(NamedTuple):
    """One request as it arrived."""

    path: str
    key: str
    body: bytes
    trace: tuple[str | None, str | None]


class StubReceiver:
    """Answers as it is told, and keeps what it was sent."""

    def __init__(self) -> None:
        self.received: list[Received] = []
        self.headers: dict[str, str] = {}
        self.tell(lambda _body: (500, {}))

    def tell(self, answer: Callable[[Any], tuple[int, Any]], **headers: str) -> None:
        """Answer so from now on, and forget what was received."""
        self.answer = answer
        self.headers = headers
        self.received.clear()

    def handle(self, request: Request, body: bytes) -> None:
        """Keep the request and answer it."""
        key = request.headers["Idempotency-Key"]
        trace = (request.headers["traceparent"], request.headers["tracestate"])
        self.received.append(Received(request.path, key, body, trace))
        status, document = self.answer(json.loads(body))
        request.answer(status, json.dumps(document).encode(), **self.headers)


@pytest.fixture(scope="module")
def stub() -> StubReceiver:
    """A receiver that each test tells how to answer."""
    return StubReceiver()


@pytest.fixture(scope="module")
def receiver(stub: StubReceiver) -> Iterator[Receiver]:
    """The way to it; one server for all tests, because a server takes half a second to stop."""
    with StubServer(stub.handle) as server:
        yield connect(AuditAccess(audit_url=server.url), timeout=5)


def make_items(count: int) -> list[AuditItem]:
    """Return the items of this many messages."""
    [items] = split_conflicts([record(f"m-{n}") for n in range(count)])
    messages = [item for item in items if isinstance(item, Message)]
    return [make_item(Entry(message, ACCEPTED)) for message in messages]


def answer_first(status: int, detail: str = DETAIL) -> Callable[[Any], tuple[int, Any]]:
    """Answer the first item of a batch like this, and take the others."""

    def answer(batch: Any) -> tuple[int, Any]:
        keys = [item["idempotency_key"] for item in batch["items"]]
        answers = [{"idempotency_key": key, "status": 201, "body": {}} for key in keys]
        answers[0] |= {"status": status, "body": {"detail": detail}}
        return 200, {"items": answers}

    return answer


def test_a_request_has_a_key_that_follows_from_its_entries(
    stub: StubReceiver, receiver: Receiver
) -> None:
    """The same entries give the same key, and others another one, in quotes as the draft wants."""
    first, second = make_items(3), make_items(4)
    stub.tell(answer_first(201))
    for items in (first, first, second, first[:2]):
        post_batch(receiver, items)
    keys = [received.key for received in stub.received]
    assert all(KEY_HEADER.fullmatch(key) for key in keys)
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3


def test_a_trace_is_beside_the_body_that_the_key_belongs_to(
    stub: StubReceiver, receiver: Receiver
) -> None:
    """Both are those of an entry without one, which is sent as before there were any."""
    [plain] = make_items(1)
    traced = plain._replace(trace=Trace(PARENT, "a=1"))
    stub.tell(answer_first(201))
    for item in (plain, traced):
        post_batch(receiver, [item])
    without, with_trace = (json.loads(received.body)["items"] for received in stub.received)
    assert without == [{"idempotency_key": plain.idempotency_key, "body": plain.body}]
    assert with_trace == [without[0] | {"traceparent": PARENT, "tracestate": "a=1"}]


def test_a_single_entry_has_its_trace_as_headers(stub: StubReceiver, receiver: Receiver) -> None:
    """As any HTTP server expects it; the body is the same."""
    [plain] = make_items(1)
    stub.tell(lambda _body: (201, {}))
    for item in (plain, plain._replace(trace=Trace(PARENT, "a=1"))):
        post_single(receiver, [item])
    without, with_trace = stub.received
    assert (without.trace, with_trace.trace) == ((None, None), (PARENT, "a=1"))
    assert (without.key, without.body) == (with_trace.key, with_trace.body)


def test_a_single_entry_has_its_own_key_as_header_and_its_body_alone(
    stub: StubReceiver, receiver: Receiver
) -> None:
    """A receiver that knows nothing of batches is sent what the draft describes."""
    [item] = make_items(1)
    stub.tell(lambda _body: (201, {}))
    assert post_single(receiver, [item]) == {"m-0": None}
    [received] = stub.received
    assert received.path == "/audit-entries"
    assert received.key == f'"{item.idempotency_key}"'
    assert json.loads(received.body) == item.body


@pytest.mark.parametrize("status", [400, 413, 422, 404, 409, 425])
def test_an_item_that_is_not_taken_fails_alone(
    stub: StubReceiver, receiver: Receiver, status: int
) -> None:
    """The others are taken; posted alone, it gets the same verdict."""
    items = make_items(3)
    failure = Failure(items[0], status, DETAIL)
    assert failure.is_refused == (status in {400, 413, 422})
    stub.tell(answer_first(status))
    assert post_batch(receiver, items) == {"m-0": failure, "m-1": None, "m-2": None}
    stub.tell(lambda _body: (status, {"detail": DETAIL}))
    assert post_single(receiver, items[:1]) == {"m-0": failure}


@pytest.mark.parametrize("status", [401, 403, 408, 429, 500, 503])
def test_any_other_status_is_an_outage(stub: StubReceiver, receiver: Receiver, status: int) -> None:
    """For the request or for one of its items: nobody is skipped."""
    items = make_items(2)
    stub.tell(answer_first(status))
    with pytest.raises(OutageError, match=str(status)):
        post_batch(receiver, items)
    stub.tell(lambda _body: (status, {}))
    with pytest.raises(OutageError, match=str(status)):
        post_batch(receiver, items)
    with pytest.raises(OutageError, match=str(status)):
        post_single(receiver, items[:1])


def test_a_request_for_many_that_is_not_found_is_an_outage(
    stub: StubReceiver, receiver: Receiver
) -> None:
    """404 for all of them is a wrong address, and never the fault of an entry."""
    stub.tell(lambda _body: (404, {}))
    with pytest.raises(OutageError, match="404"):
        post_batch(receiver, make_items(2))


def test_a_refused_request_says_why(stub: StubReceiver, receiver: Receiver) -> None:
    """The detail of a problem, or the text of an answer that is none."""
    for document, reason in (("no", '"no"'), ({"detail": DETAIL}, DETAIL)):
        stub.tell(lambda _body, said=document: (400, said))  # type: ignore[misc]
        with pytest.raises(RefusedRequestError, match=reason):
            post_batch(receiver, make_items(2))


@pytest.mark.parametrize(
    ("detail", "cause"),
    [
        (DETAIL, "422:total"),
        ("Idempotency-Key: already used", "422:Idempotency-Key"),
        ("o-17: no such order", "422"),
        ("no such order", "422"),
    ],
)
def test_the_cause_is_the_status_and_a_field_of_ours(detail: str, cause: str) -> None:
    """Whatever else the receiver writes may differ for each entry, and would never be ten."""
    [item] = make_items(1)
    assert str(Failure(item, 422, detail).cause) == cause


@given(st.sets(st.integers(0, 40)), st.integers(1, 41), st.integers(1, 41))
def test_every_refused_item_is_found_and_no_other(bad: set[int], size: int, at_once: int) -> None:
    """Wherever they are and however many go into one request, each good one is taken once."""
    items = make_items(size)
    bad_ids = {f"m-{n}" for n in bad}
    taken: list[str] = []

    def post(some: Sequence[AuditItem]) -> Answers:
        assert len(some) <= at_once
        ids = [item.message_id for item in some]
        if bad_ids & set(ids):
            raise RefusedRequestError(REFUSAL)
        taken.extend(ids)
        return dict.fromkeys(ids)

    answers = post_all(items, post, at_once, MANY, keep_polling=lambda: None)
    assert taken == [item.message_id for item in items if item.message_id not in bad_ids]
    assert list(answers) == [item.message_id for item in items]
    failed = {message_id for message_id, failure in answers.items() if failure}
    assert failed == bad_ids & set(answers)


@pytest.mark.parametrize("at_once", [1, 500])
def test_a_receiver_that_refuses_everything_is_not_asked_a_thousand_times(at_once: int) -> None:
    """After the eleventh refusal the rest stays without an answer, and waits."""
    requests: list[int] = []

    def post(some: Sequence[AuditItem]) -> Answers:
        requests.append(len(some))
        raise RefusedRequestError(REFUSAL)

    polls: list[None] = []
    answers = post_all(make_items(500), post, at_once, 10, lambda: polls.append(None))
    assert len(answers) == 11
    assert len(requests) < 40
    assert len(polls) == len(requests)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, 0),
        ({"Retry-After": "7"}, 7),
        ({"Retry-After": " 7 "}, 7),
        ({"Retry-After": "٣"}, 0),
        ({"Retry-After": "-7"}, 0),
        ({"Retry-After": "soon"}, 0),
        ({"Retry-After": "Sun, 99 Nov 2026 12:00:30 GMT"}, 0),
        ({"Retry-After": "Sun, 22 Nov 2026 12:00:30 GMT"}, 30),
        ({"Retry-After": "Sunday, 22-Nov-26 12:00:30 GMT"}, 30),
        ({"Retry-After": "Sun Nov 22 12:00:30 2026"}, 30),
        ({"Retry-After": "Sun, 22 Nov 2026 11:59:00 GMT"}, 0),
    ],
)
def test_retry_after_is_read_as_seconds_and_as_a_date(
    headers: dict[str, str], seconds: float
) -> None:
    """All three forms of an HTTP date count from the receiver's clock; anything else is no wait."""
    assert retry_after_seconds({"Date": format_datetime(NOON, usegmt=True)} | headers) == seconds


def test_without_a_clock_of_the_receiver_ours_counts() -> None:
    """A receiver that sends no Date is believed to have our time."""
    in_a_minute = datetime.now(UTC) + timedelta(seconds=60)
    found = retry_after_seconds({"Retry-After": format_datetime(in_a_minute, usegmt=True)})
    assert 50 < found <= 60


def test_a_date_is_waited_for(stub: StubReceiver, receiver: Receiver) -> None:
    """An outage carries how long the receiver asked us to wait."""
    until = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    stub.tell(lambda _body: (503, {}), Retry_After=until)
    with pytest.raises(OutageError) as outage:
        post_batch(receiver, make_items(1))
    assert 25 < outage.value.retry_after <= 30
