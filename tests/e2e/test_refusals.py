"""A database that refuses good messages, under load: nothing is buried that would have passed."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
import requests

from ops.stack.stack import Stack
from tests.builders import value
from tests.client import Sent, counts, exactly_one, fresh, query, send, until, until_handled
from tests.load import load, orders
from tests.refusing import FOR_ALL, FOR_ONE, changed, execute

PROVE = bool(os.environ.get("PROVE"))
ALL = FOR_ALL if PROVE else ["a NOT NULL column", "a revoked grant"]
ONE = FOR_ONE if PROVE else ["a CHECK"]
QUICK = {"REFUSAL_PROBE_SECONDS": "0.1"}  # ten are buried within a second instead of ten


@pytest.fixture
def quick(spoiled: Stack) -> Iterator[Stack]:
    """A service that probes often, and no refusal of another test that counts."""
    until_handled()
    execute("truncate refusal, refusal_allowed")
    spoiled.start("service", env=QUICK)
    yield spoiled
    spoiled.start("service")


def readiness(stack: Stack) -> tuple[int, str]:
    """Return the answer of /readyz."""
    answer = requests.get(f"{stack.env()['SERVICE_URL']}/readyz", timeout=10)
    return answer.status_code, answer.text


def until_waiting(stack: Stack, what: str) -> None:
    """Wait until /readyz says no, and why."""
    until(
        lambda: readiness(stack),
        lambda answer: answer[0] == 503 and what in answer[1],
        30,
        f"/readyz does not say {what}",
    )


def count_letters() -> int:
    """Return how many dead letters there are."""
    [(count,)] = query("select count(*) from dead_letter")
    return int(count)


@pytest.mark.parametrize("what", ALL)
def test_what_refuses_every_message_buries_none(quick: Stack, what: str) -> None:
    """Changed and mended under load: the service waits and says why; then all are fulfilled."""
    before, change = count_letters(), FOR_ALL[what]
    code, _, name = change.cause.partition(" ")
    with load(pause=0.02) as ids:
        with changed(change.change, change.mend):
            until_waiting(quick, f"refused by the database: {change.cause}")
            sent = len(ids)
            until(lambda: len(ids), lambda now: now > sent + 100, 30, "nobody sends any more")
            metrics = requests.get(f"{quick.env()['SERVICE_URL']}/metrics", timeout=10).text
        until(
            lambda: readiness(quick), lambda answer: answer[0] == 200, 30, "it is not ready again"
        )
    until_handled()
    exactly_one(ids)
    assert count_letters() == before
    assert (
        f'refusals_total{{code="{code}",kind="database",name="{name}",verdict="waits"}}' in metrics
    )
    assert f'"code": "{code}", "name": "{name}"' in quick.log("service").read_text()


def customers(prefix: str) -> dict[str, Sent]:
    """Return 300 good orders by message id, thirty of which are of customer 13."""
    sent = {}
    for n in range(300):
        message_id = f"{prefix}-{n}"
        customer = "c-13" if n % 10 == 0 else "c-7"
        sent[message_id] = Sent(message_id, message_id, value(message_id, customer_id=customer))
    return sent


def unfulfilled(sent: dict[str, Sent]) -> set[str]:
    """Return the messages that have no fulfillment."""
    return sent.keys() - counts([*sent])["fulfillment"].keys()


@pytest.mark.parametrize("what", ONE)
def test_what_refuses_one_customer_buries_ten(quick: Stack, what: str) -> None:
    """Ten are buried, then it waits, after a restart too; once mended, the others are fulfilled."""
    before, change, sent = count_letters(), FOR_ONE[what], customers(fresh("one"))
    with changed(change.change, change.mend):
        send([*sent.values()])
        for _ in range(2):
            until_waiting(quick, "has refused too many records")
            assert count_letters() == before + 10
            quick.start("service", env=QUICK)
        until_waiting(quick, "has refused too many records")
    until_handled()
    assert count_letters() == before + 10
    buried = unfulfilled(sent)
    assert len(buried) == 10
    assert all(b"c-13" in (sent[message_id].value or b"") for message_id in buried)
    exactly_one([*sent.keys() - buried])


def test_a_person_may_let_them_be_buried(quick: Stack) -> None:
    """Allowed by a command, all that the cause refuses is buried, and nobody else waits."""
    before, change, sent = count_letters(), FOR_ONE["a CHECK"], customers(fresh("allowed"))
    with changed(change.change, change.mend):
        send([*sent.values()])
        until_waiting(quick, "pipeline dead-letters allow 23514:no_13")
        assert allow(quick, "23514:no_31") == (
            1,
            "23514:no_31 has refused nothing; what has: 23514:no_13 (11 records)\n",
        )
        code, said = allow(quick, "23514:no_13", "--for", "5m", "--by", "first-hand", "--json")
        assert code == 0
        assert json.loads(said)["allowed_by"] == "first-hand"
        until_handled()
    assert len(unfulfilled(sent)) == 30
    assert count_letters() == before + 30


def allow(stack: Stack, *words: str) -> tuple[int, str]:
    """Type `pipeline dead-letters allow`; return its exit code, and what it said."""
    command = [sys.executable, "-m", "ops", "dead-letters", "allow", *words]
    env = os.environ | stack.env() | {"ATTACH": "true"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=30, check=False)
    return done.returncode, done.stdout or done.stderr


def test_control_without_the_rule_good_messages_are_buried(spoiled: Stack) -> None:
    """A service that blames the message buries every good one, and /readyz says nothing."""
    until_handled()
    before, change = count_letters(), FOR_ALL["a NOT NULL column"]
    spoiled.stop("service")
    try:
        with changed(change.change, change.mend):
            spoiled.start("service", [sys.executable, "-m", "tests.e2e.unjudged"])
            orders(100)
            until_handled()
            assert count_letters() == before + 100
            assert readiness(spoiled) == (200, "ok\n")
    finally:
        spoiled.stop("service")
        spoiled.start("service")
