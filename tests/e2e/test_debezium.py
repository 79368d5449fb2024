"""What Debezium must not lose: transactions that overlap, and restarts between them."""

import json
from collections.abc import Callable
from contextlib import closing

import pytest
import requests

from connect.register import MISSING
from migrations.outbox import ADD_TRACESTATE, DROP_TRACESTATE
from ops.stack.stack import Stack
from tests.client import Landed, connect, fresh, query, until, until_published

INSERT = b"""
    insert into outbox (event_id, aggregate_type, aggregate_id, event_type, traceparent, payload)
    select gen_random_uuid(), 'fulfillment', %s, 'order-fulfilled', '-',
           json_build_object('test', %s::text, 'n', n) from generate_series(%s::int, %s::int) n
"""


def numbers(key: str, count: int) -> list[int]:
    """Return the numbers of a key's events, in the sequence of the topic."""
    return [
        json.loads(event.value)["n"]
        for event in until_published("fulfillment.events", is_of(key), count)
    ]


def is_of(key: str) -> Callable[[Landed], bool]:
    """Return a filter for events with this key."""
    return lambda event: event.key == key


def ask(url: str, verb: str, state: str) -> None:
    """Request a state of the connector; wait until its task has it (or is gone, when stopped)."""
    assert requests.put(f"{url}/{verb}", timeout=10).ok
    until(lambda: states(url), lambda seen: seen == {state}, 30, f"the connector is not {state}")


def states(url: str) -> set[str]:
    """Return the states of the connector and of its task."""
    answer = requests.get(f"{url}/status", timeout=10).json()
    return {answer["connector"]["state"], *(task["state"] for task in answer["tasks"])}


def test_a_restart_between_interleaved_transactions_misses_nothing(spoiled: Stack) -> None:
    """Debezium, stopped between two interleaved transactions, publishes all rows of both.

    With heartbeats on, version 3.6 lost the first rows of the transaction that was still open.
    """
    url = url_of(spoiled)
    for _ in range(3):
        key = fresh("a")
        with closing(connect(role="app")) as a, closing(connect(role="app")) as b:
            a.execute("begin")
            a.execute(INSERT, [key, key, 1, 5])
            b.execute(INSERT, [f"{key}-b", key, 1, 1])
            assert numbers(f"{key}-b", 1) == [1]
            a.execute(INSERT, [key, key, 6, 10])
            ask(url, "stop", "STOPPED")
            a.execute("commit")
            ask(url, "resume", "RUNNING")
        assert numbers(key, 10) == list(range(1, 11))


def test_commits_in_the_reverse_sequence_of_ids_skip_nothing(spoiled: Stack) -> None:
    """A lower seq that commits after a higher one is published, and keys keep their sequence."""
    key = fresh("r")
    with closing(connect(role="app")) as low, closing(connect(role="app")) as high:
        low.execute("begin")
        low.execute(INSERT, [key, key, 1, 3])
        high.execute(INSERT, [f"{key}-high", key, 1, 3])
        assert numbers(f"{key}-high", 3) == [1, 2, 3]
        low.execute("commit")
    assert numbers(key, 3) == [1, 2, 3]
    of_key = query(
        "select aggregate_id, min(seq) from outbox where aggregate_id like %s group by 1", f"{key}%"
    )
    assert dict(of_key)[key] < dict(of_key)[f"{key}-high"]


@pytest.fixture
def before_the_column(spoiled: Stack) -> str:
    """Leave an event that was written before the outbox had its newest column; return its key."""
    key = fresh("b")
    ask(url_of(spoiled), "stop", "STOPPED")
    with closing(connect(role="postgres")) as owner, closing(connect(role="app")) as app:
        owner.execute(DROP_TRACESTATE.encode())
        try:
            app.execute(INSERT, [key, key, 1, 1])
        finally:
            owner.execute(ADD_TRACESTATE.encode())
        app.execute(INSERT, [key, key, 2, 2])
    return key


def url_of(stack: Stack) -> str:
    """Return where the connector answers."""
    return f"{stack.env()['CONNECT_URL']}/connectors/fulfillment-outbox"


def test_an_event_from_before_a_column_has_no_header_of_it(
    spoiled: Stack, before_the_column: str
) -> None:
    """An upgrade may come before Debezium has read everything: what is left in the log goes out."""
    ask(url_of(spoiled), "resume", "RUNNING")
    first, second = until_published("fulfillment.events", is_of(before_the_column), 2)
    assert "tracestate" not in first.headers
    assert second.headers["tracestate"] == b""


def test_control_a_router_that_wants_every_column_fails_there(
    spoiled: Stack, before_the_column: str
) -> None:
    """Without the setting the task fails, and nothing is published until it is back."""
    url = url_of(spoiled)
    config = requests.get(f"{url}/config", timeout=10).json()
    strict = {name: text for name, text in config.items() if name != MISSING}
    assert strict != config
    try:
        assert requests.put(f"{url}/config", json=strict, timeout=30).ok
        assert requests.put(f"{url}/resume", timeout=10).ok
        until(lambda: states(url), lambda seen: "FAILED" in seen, 30, "the task does not fail")
    finally:
        assert requests.put(f"{url}/config", json=config, timeout=30).ok
        until(lambda: states(url), lambda seen: seen == {"RUNNING"}, 30, "it is not back")
    assert numbers(before_the_column, 2) == [1, 2]
