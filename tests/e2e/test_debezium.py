"""What Debezium must not lose: transactions that overlap, and restarts between them."""

import json
from collections.abc import Callable
from contextlib import closing

import requests

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

    def states() -> set[str]:
        answer = requests.get(f"{url}/status", timeout=10).json()
        return {answer["connector"]["state"], *(task["state"] for task in answer["tasks"])}

    until(states, lambda seen: seen == {state}, 30, f"the connector is not {state}")


def test_a_restart_between_interleaved_transactions_misses_nothing(spoiled: Stack) -> None:
    """Debezium, stopped between two interleaved transactions, publishes all rows of both.

    With heartbeats on, version 3.6 lost the first rows of the transaction that was still open.
    """
    url = f"{spoiled.env()['CONNECT_URL']}/connectors/fulfillment-outbox"
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
