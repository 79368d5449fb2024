"""What the audit receiver does not take: few are given up, nobody else waits, all come in later."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import requests

from ops.audit import Choice, Done, retry
from ops.fault_proxy import StubServer
from ops.stack.stack import Stack
from tests.client import committed, ends, exactly_one, query, until, until_handled
from tests.e2e.failing_receiver import FailingReceiver
from tests.load import orders

UNTIL_MENDED = 10**9
QUICK = {"RETRY_CAP_SECONDS": "0.5", "AUDIT_REPEAT_SECONDS": "0.2"}


class Failing(NamedTuple):
    """A receiver that fails until it is mended, and the service's way to it."""

    receiver: FailingReceiver
    env: dict[str, str]


@contextmanager
def failing(stack: Stack, fault: str, **changed: str) -> Iterator[Failing]:
    """Let the service post to such a receiver."""
    receiver = FailingReceiver(stack.env()["AUDIT_URL"], fault, UNTIL_MENDED)
    with StubServer(receiver.handle) as front:
        env = {"AUDIT_URL": front.url, **QUICK, **changed}
        stack.start("service", env=env)
        try:
            yield Failing(receiver, env)
        finally:
            receiver.mend()
            until_handled()
            stack.start("service")


def count_marks(ids: Sequence[str]) -> tuple[int, int]:
    """Return how many messages are audited, and how many are refused for good."""
    [(audited, refused)] = query(
        "select count(audited_at), count(audit_error) from tracking where message_id = any(%s)",
        ids,
    )
    return audited, refused


def readiness(stack: Stack) -> tuple[int, str]:
    """Return the answer of /readyz."""
    answer = requests.get(f"{stack.env()['SERVICE_URL']}/readyz", timeout=10)
    return answer.status_code, answer.text


def test_a_receiver_that_refuses_everything_for_a_while_costs_ten_entries(stack: Stack) -> None:
    """The others wait until it is mended; the ten are sent again, and then all reconciles."""
    with failing(stack, "422") as (receiver, _):
        ids = orders(300)
        until(
            lambda: readiness(stack),
            lambda answer: answer[0] == 503 and "answered 422 to too many" in answer[1],
            30,
            "/readyz does not say what the service waits for",
        )
        tried = receiver.failed
        until(lambda: receiver.failed, lambda now: now > tried + 20, 30, "it does not try again")
        assert count_marks(ids) == (0, 10)
        receiver.mend()
        until_handled()
        assert readiness(stack) == (200, "ok\n")
    assert count_marks(ids) == (290, 10)
    assert retry(stack.env(), Choice("422"), print) == Done(taken=10, refused=0)
    assert count_marks(ids) == (300, 0)
    exactly_one(ids)


def test_control_without_the_rule_of_ten_every_entry_is_refused(spoiled: Stack) -> None:
    """With a limit that is never reached, all that the receiver refuses is given up at once."""
    with failing(spoiled, "422", REFUSAL_LIMIT="1000"):
        ids = orders(100)
        until_handled()
    assert count_marks(ids) == (0, 100)


def test_an_entry_that_is_not_taken_yet_holds_nobody_up(stack: Stack) -> None:
    """It is sent again until it is taken, also by a service that has been killed (-9) since."""
    with failing(stack, "hold one 409") as (receiver, env):
        ids = orders(200)
        until_handled()
        assert count_marks(ids) == (199, 0)
        stack.kill("service")
        stack.start("service", env=env)
        tried = receiver.failed
        until(lambda: receiver.failed, lambda now: now > tried + 3, 30, "it does not try again")
        assert count_marks(ids) == (199, 0)
        receiver.mend()
        until(lambda: count_marks(ids), lambda marks: marks == (200, 0), 30, "it is not audited")
    exactly_one(ids)


def test_control_an_entry_with_an_outage_of_its_own_holds_up_its_batch(spoiled: Stack) -> None:
    """An answer such as 503 for one entry is waited out: no offset behind it is committed."""
    with failing(spoiled, "hold one 503") as (receiver, _):
        orders(100)
        until(lambda: receiver.failed, lambda now: now > 3, 30, "it does not try again")
        assert committed() != ends()
