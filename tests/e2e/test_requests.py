"""How often the audit receiver is called, and what a call that takes too long leaves behind.

Effects are counted everywhere else. Here it is the requests: a receiver may bill for each.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from ops.fault_proxy import Request, StubServer, forward
from ops.stack.stack import Stack
from tests.builders import value
from tests.client import Sent, counts, events, exactly_one, fresh, of, send, until, until_handled
from tests.own_service import MODULE, make_topic, own_service

UNMARKED = ("tests.e2e.unmarked",)
# The least that the settings allow. A batch takes at most 8 s with these timeouts.
POLL_INTERVAL = {
    "MAX_POLL_INTERVAL_MS": "17000",
    "DATABASE_TIMEOUT_SECONDS": "0.4",
    "AUDIT_TIMEOUT_SECONDS": "0.5",
}
ANSWER_AFTER_SECONDS = "22"


@contextmanager
def counting(stack: Stack) -> Iterator[tuple[str, Counter[str]]]:
    """Have an address of the audit receiver where the requests for each message are counted."""
    requests: Counter[str] = Counter()
    pass_on = forward(stack.env()["AUDIT_URL"])

    def handle(request: Request, body: bytes) -> None:
        items = json.loads(body)["items"]
        requests.update({item["body"]["message_id"] for item in items})
        request.answer(*pass_on(request.path, body))

    with StubServer(handle) as front:
        yield front.url, requests


def message() -> Sent:
    """Return an order under an id of its own."""
    order_id = fresh("o")
    return Sent(fresh("m"), order_id, value(order_id))


@pytest.mark.parametrize("deliveries", [1, 3])
def test_a_message_is_posted_once_however_often_it_is_delivered(
    stack: Stack, deliveries: int
) -> None:
    """One delivery, one request; three deliveries, one request."""
    assert post_each_delivery(stack, deliveries, MODULE) == 1


def test_without_the_mark_each_delivery_is_posted(spoiled: Stack) -> None:
    """Control: a service that does not note the answers sends three requests."""
    assert post_each_delivery(spoiled, 3, UNMARKED) == 3


def post_each_delivery(stack: Stack, deliveries: int, module: Sequence[str]) -> int:
    """Deliver a message, each time after the last one was handled; return how often it is sent."""
    topic = make_topic()
    sent = message()
    with counting(stack) as (url, requests), own_service(stack, topic, module, AUDIT_URL=url):
        for _ in range(deliveries):
            send([sent], topic)
            until_handled(30, topic, topic)
    return requests[str(sent.message_id)]


def test_a_call_beyond_the_poll_interval_has_one_effect_and_one_event(spoiled: Stack) -> None:
    """The record goes to the other instance, which asks again under the same key: one of each.

    Control: without tracking the other instance publishes a second event.
    """
    tracked = Late(spoiled, "tracked")
    untracked = Late(spoiled, "untracked")
    with tracked.running(), untracked.running():
        tracked.until_done()
        untracked.until_done()
    exactly_one([tracked.message_id])
    assert tracked.requests == untracked.requests == 2
    assert tracked.events() == 1
    assert untracked.events() == 2


class Late:
    """Two instances; whichever is first waits for an answer until its partition is gone."""

    def __init__(self, stack: Stack, wiring: str) -> None:
        self.stack = stack
        self.module = ("tests.e2e.slow", wiring)
        self.topic = make_topic()
        self.sent = message()
        self.message_id = str(self.sent.message_id)
        self.counted: Counter[str] = Counter()

    @property
    def requests(self) -> int:
        """Return how often the receiver was asked."""
        return self.counted[self.message_id]

    @contextmanager
    def running(self) -> Iterator[None]:
        """Let the first instance wait for its answer, and start the second one."""
        with counting(self.stack) as (url, self.counted):
            settings = POLL_INTERVAL | {"AUDIT_URL": url}
            late = settings | {"ANSWER_AFTER_SECONDS": ANSWER_AFTER_SECONDS}
            in_time = settings | {"ANSWER_AFTER_SECONDS": "0"}
            with own_service(self.stack, self.topic, self.module, **late) as first:
                first.until_logged('"event": "assigned"')
                send([self.sent], self.topic)
                until(lambda: self.requests, bool, 30, "the first instance has not asked")
                with own_service(self.stack, self.topic, self.module, **in_time):
                    yield

    def until_done(self) -> None:
        """Wait until the second instance has asked as well, and everything is handled."""
        until(lambda: self.requests, lambda count: count == 2, 60, "nobody has asked again")
        until_handled(60, self.topic, self.topic)

    def events(self) -> int:
        """Return how many events are on the routed topic, behind Debezium."""
        outbox = counts([self.message_id])["outbox"][self.message_id]
        wanted = of(self.message_id)
        found = until(
            lambda: events("fulfillment.events", wanted),
            lambda published: len(published) >= outbox,
            60,
            f"{outbox} events of {self.message_id}",
        )
        return len(found)
