"""Parts that fail under load and come back: nothing is lost or doubled, nobody is called."""

import json
import time
from signal import Signals
from typing import Any

import pytest
import requests

from ops.fault_proxy import StubServer
from ops.stack.stack import Stack
from tests.client import away, exactly_one, query, until, until_handled, until_published
from tests.e2e.failing_receiver import FailingReceiver
from tests.load import load, orders


def assert_all_published(ids: list[str]) -> None:
    """Assert that every message has its event, and that all copies of it have the same bytes."""
    wanted = set(ids)

    def about(event: Any) -> bool:
        return json.loads(event.value).get("message_id") in wanted

    found = until_published("fulfillment.events", about, len(ids))
    values: dict[str, set[bytes]] = {}
    for event in found:
        values.setdefault(json.loads(event.value)["message_id"], set()).add(event.value)
    assert values.keys() == wanted
    assert all(len(different) == 1 for different in values.values())


def test_connect_killed_and_started_again_misses_no_event(stack: Stack) -> None:
    """Connect, killed (-9) under load, continues from its slot: every event is on the topic."""
    with load() as ids:
        stack.kill("connect")
        orders(50)
        stack.stop("connect")
        stack.start("connect")
        for name, command in stack.part("connect").then.items():
            stack.run(name, command)
    until_handled()
    exactly_one(ids)
    assert_all_published(ids)


def test_an_outage_of_postgres_makes_no_dead_letter(stack: Stack) -> None:
    """Postgres stops without a checkpoint under load; no message is lost or a dead letter."""
    [(before,)] = query("select count(*) from dead_letter")
    with load() as sent, away(stack, "postgres", Signals.SIGQUIT):
        while_away = orders(500)
    until_handled()
    ids = sent + while_away
    exactly_one(ids)
    assert query("select count(*) from dead_letter") == [(before,)]
    assert_all_published(ids)


def test_an_outage_does_not_cost_the_partitions(stack: Stack) -> None:
    """While Postgres is down the service keeps polling, so no rebalance happens."""
    orders(10)
    until_handled()
    changes = stack.log("service").read_text().count('"event": "revoked"')
    tried = metric(stack, "retries_total")
    with away(stack, "postgres"):
        ids = orders(50)
        until(
            lambda: metric(stack, "retries_total"),
            lambda now: now >= tried + 5,
            30,
            "it does not try again",
        )
        answer = requests.get(f"{stack.env()['SERVICE_URL']}/readyz", timeout=10)
        assert (answer.status_code, answer.text) == (503, "the database does not answer\n")
        assert requests.get(f"{stack.env()['SERVICE_URL']}/livez", timeout=10).ok
    until_handled()
    exactly_one(ids)
    assert stack.log("service").read_text().count('"event": "revoked"') == changes


def test_the_audit_receiver_down_for_twenty_seconds_loses_nothing(stack: Stack) -> None:
    """While the receiver is down nothing is skipped; afterwards each entry exists once."""
    with away(stack, "audit"):
        down = time.monotonic()
        ids = orders(300)
        written = "select audited_at from tracking where message_id = any(%s)"
        until(
            lambda: query(written, ids),
            bool,
            20,
            "no order was written while the receiver was down",
        )
        until(
            lambda: time.monotonic() - down,
            lambda gone: gone > 20,
            30,
            "twenty seconds never passed",
        )
        assert set(query(written, ids)) == {(None,)}
    until_handled()
    exactly_one(ids)


@pytest.mark.parametrize("fault", ["503", "429", "lost answer", "garbage", "endless", "redirect"])
def test_a_receiver_that_fails_and_recovers_has_one_effect(stack: Stack, fault: str) -> None:
    """Whatever the receiver does instead of answering, the same keys are posted until it does."""
    failing = FailingReceiver(stack.env()["AUDIT_URL"], fault, times=3)
    with StubServer(failing.handle) as front:
        stack.start("service", env={"AUDIT_URL": front.url, "AUDIT_TIMEOUT_SECONDS": "2"})
        try:
            ids = orders(100)
            until_handled()
        finally:
            stack.start("service")
    exactly_one(ids)
    assert failing.failed == 3
    assert not query(
        "select 1 from tracking where message_id = any(%s) and audited_at is null", ids
    )


def test_an_entry_that_is_refused_for_good_does_not_block(spoiled: Stack) -> None:
    """An entry that the receiver refuses is stored as audit_error; the others are audited."""
    with StubServer(
        FailingReceiver(spoiled.env()["AUDIT_URL"], "refuse one", times=1).handle
    ) as front:
        spoiled.start("service", env={"AUDIT_URL": front.url})
        try:
            ids = orders(100)
            until_handled()
        finally:
            spoiled.start("service")
    errors = query(
        "select audit_error from tracking where message_id = any(%s) and audited_at is null", ids
    )
    assert errors == [("422 Idempotency-Key: already used with another body",)]


def metric(stack: Stack, name: str) -> float:
    """Return the sum of a metric of the service."""
    lines = requests.get(f"{stack.env()['SERVICE_URL']}/metrics", timeout=10).text.splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith(name))
