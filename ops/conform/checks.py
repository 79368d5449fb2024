"""What a receiver must do, by the draft of the Idempotency-Key header: one function for each.

A check sees answers, not effects: a receiver that does its work twice and answers the same is not
found here. Look at its rows, as `pipeline reconcile` does for the one in this house.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from ops.conform.exchange import Answer, Receiver, other

AT_ONCE = 8
PATIENCE_SECONDS = 10.0
PAUSE_SECONDS = 0.2
MISSING, IN_PROGRESS, OTHER_BODY = 400, 409, 422


class Result(NamedTuple):
    """What a check has found."""

    name: str
    claim: str
    seen: str  # nothing if it is as it must be

    @property
    def ok(self) -> bool:
        """Return whether the receiver does what it must."""
        return not self.seen


class Check(NamedTuple):
    """One thing that a receiver must do."""

    name: str
    claim: str
    find: Callable[[Receiver], str]  # what is wrong; nothing if all is right


def takes_a_first_request(receiver: Receiver) -> str:
    """Find out whether anything is taken at all."""
    answer = receiver.post(*receiver.fresh())
    return "" if answer.is_success else f"it answered {answer}"


def answers_a_repeat_the_same(receiver: Receiver) -> str:
    """Send the same key and body three times."""
    key, body = receiver.fresh()
    first = receiver.post(key, body)
    for _ in range(2):
        again = receiver.post(key, body)
        if not again.is_success or again.body != first.body:
            return f"first {first}, and again {again}"
    return ""


def refuses_another_body(receiver: Receiver) -> str:
    """Send another body under a key that is used."""
    key, body = receiver.fresh()
    first = receiver.post(key, body)
    changed = receiver.post(key, other(body))
    if changed.status != OTHER_BODY:
        return f"another body under the same key: {changed}"
    again = receiver.post(key, body)
    if again.body != first.body:
        return f"after that the first body again: {again}, which was {first}"
    return ""


def refuses_a_request_without_a_key(receiver: Receiver) -> str:
    """Send no key."""
    _, body = receiver.fresh()
    answer = receiver.post(None, body)
    return "" if answer.status == MISSING else f"without a key: {answer}"


def keeps_keys_apart(receiver: Receiver) -> str:
    """Send two requests under two keys."""
    answers = [receiver.post(*receiver.fresh()) for _ in range(2)]
    if answers[0].body == answers[1].body:
        return f"two requests under two keys: the same answer, {answers[0]}"
    return ""


def takes_one_of_many_at_once(receiver: Receiver) -> str:
    """Send the same from several connections at one moment."""
    key, body = receiver.fresh()
    begin = threading.Barrier(AT_ONCE)

    def post(_number: int) -> Answer:
        begin.wait(PATIENCE_SECONDS)
        return receiver.post(key, body)

    with ThreadPoolExecutor(AT_ONCE) as threads:
        answers = list(threads.map(post, range(AT_ONCE)))
    strange = [one for one in answers if not one.is_success and one.status != IN_PROGRESS]
    if strange:
        return f"of {AT_ONCE} at once one was answered {strange[0]}"
    bodies = {one.body for one in answers if one.is_success}
    if len(bodies) != 1:
        return f"{AT_ONCE} at once had {len(bodies)} answers"
    after = receiver.post(key, body)
    return "" if {after.body} == bodies else f"afterwards it answered {after}"


def remembers_a_lost_answer(receiver: Receiver) -> str:
    """Hang up before the answer, and ask again, as a client does after a time-out."""
    key, body = receiver.fresh()
    receiver.post_and_leave(key, body)
    deadline = time.monotonic() + PATIENCE_SECONDS
    answer = receiver.post(key, body)
    while answer.status == IN_PROGRESS and time.monotonic() < deadline:
        time.sleep(PAUSE_SECONDS)
        answer = receiver.post(key, body)
    if not answer.is_success:
        return f"after a lost answer: {answer}"
    changed = receiver.post(key, other(body))
    return "" if changed.status == OTHER_BODY else f"the key was free again: {changed}"


CHECKS = (
    Check("first", "a first request is taken", takes_a_first_request),
    Check("repeat", "the same again has the same answer", answers_a_repeat_the_same),
    Check("keys", "two keys are two requests", keeps_keys_apart),
    Check("other body", "another body under a used key is 422", refuses_another_body),
    Check("no key", "a request without a key is 400", refuses_a_request_without_a_key),
    Check(
        "at once",
        f"of {AT_ONCE} at once all have one answer, or 409 while the first is in progress",
        takes_one_of_many_at_once,
    ),
    Check("lost answer", "a request whose answer was lost is known", remembers_a_lost_answer),
)
