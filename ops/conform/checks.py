"""What a receiver must do, by the draft of the Idempotency-Key header: one function for each.

A check sees answers, not effects: a receiver that does its work twice and answers the same is not
found here. Look at its rows, as `pipeline reconcile` does for the one in this house.
"""

import json
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from ops.conform.exchange import Answer, Item, Receiver, canonical, other

AT_ONCE = 8
PATIENCE_SECONDS = 10.0
PAUSE_SECONDS = 0.2
MISSING, IN_PROGRESS, OTHER_BODY = 400, 409, 422
IN_A_BATCH = 4  # entries
SHARE_OF_LIFE = 0.8  # after which a key must still be known
BEYOND_LIFE = 1.2  # after which it may be gone


class Result(NamedTuple):
    """What a check has found."""

    name: str
    claim: str
    seen: str  # nothing if it is as it must be
    missing: str = ""  # the option without which it was not checked

    @property
    def ok(self) -> bool:
        """Return whether the receiver does what it must, as far as it was asked."""
        return not self.seen


class Check(NamedTuple):
    """One thing that a receiver must do."""

    name: str
    claim: str
    find: Callable[[Receiver], str]  # what is wrong; nothing if all is right
    find_missing: Callable[[Receiver], str] = lambda _: ""  # an option that was not given


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
        if not again.repeats(first):
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


def answers_each_entry(receiver: Receiver) -> str:
    """Send several entries in one request."""
    items = fresh_items(receiver)
    answer = receiver.post_batch(items)
    if not answer.entries:
        return f"a batch of {len(items)} had not one answer for each, under its key: {answer.whole}"
    refused = [entry for entry in answer.entries if not entry.is_success]
    if refused:
        return f"an entry of a batch: {refused[0]}"
    bodies = {entry.body for entry in answer.entries}
    return "" if len(bodies) == len(items) else f"{len(items)} entries had {len(bodies)} answers"


def takes_an_entry_once_in_a_batch(receiver: Receiver) -> str:
    """Send the same entry twice in one request."""
    first, second = fresh_items(receiver)[:2]
    answer = receiver.post_batch([first, second, first])
    if not answer.entries:
        return f"a batch with the same entry twice: {answer.whole}"
    one, _, again = answer.entries
    return "" if again.repeats(one) else f"first {one}, and in the same batch {again}"


def takes_the_good_beside_a_bad_one(receiver: Receiver) -> str:
    """Send entries of which one has a used key with another body, and one has no key."""
    used, first, second, last = fresh_items(receiver)
    key, body = used
    receiver.post_batch([used])
    conflict = (key, other(body))
    keyless = (None, last[1])
    answer = receiver.post_batch([first, conflict, keyless, second])
    if not answer.entries:
        return f"a bad entry among good ones refused all: {answer.whole}"
    wanted = [True, False, False, True]
    if [entry.is_success for entry in answer.entries] != wanted:
        statuses = ", ".join(str(entry.status) for entry in answer.entries)
        return f"good, another body under a used key, no key, good: {statuses}"
    if answer.entries[1].status != OTHER_BODY:
        return f"another body under a used key, in a batch: {answer.entries[1]}"
    return compare(receiver, [first, second], answer.entries[::3], "those beside a bad one")


def answers_a_batch_the_same_again(receiver: Receiver) -> str:
    """Send the same batch again, as a client does that has lost the answer."""
    items = fresh_items(receiver)
    first = receiver.post_batch(items)
    return compare(receiver, items, first.entries, "the same batch again")


def knows_the_entries_of_a_batch_apart(receiver: Receiver) -> str:
    """Send the entries of a batch again: in another sequence, in other batches, and alone."""
    items = fresh_items(receiver)
    answers = receiver.post_batch(items).entries
    wrong = compare(receiver, items[::-1], answers[::-1], "the batch in another sequence")
    middle = len(items) // 2
    for part in (slice(middle), slice(middle, None)):
        wrong = wrong or compare(receiver, items[part], answers[part], "half of the batch")
    if wrong:
        return wrong
    [key, body], first = items[0], answers[0]
    alone = receiver.post(key, body)
    if not alone._replace(body=parse(alone.body)).repeats(first):
        return f"in a batch {first}, and then alone {alone}"
    return ""


def compare(receiver: Receiver, items: Sequence[Item], before: Sequence[Answer], what: str) -> str:
    """Send entries again, and say which has another answer than before."""
    answer = receiver.post_batch(items)
    if not before or not answer.entries:
        return f"{what}: {answer.whole}"
    for first, again in zip(before, answer.entries, strict=True):
        if not again.repeats(first):
            return f"{what}: first {first}, and then {again}"
    return ""


def fresh_items(receiver: Receiver) -> list[Item]:
    """Return entries that nobody has sent yet."""
    return [receiver.fresh() for _ in range(IN_A_BATCH)]


def parse(body: bytes) -> bytes:
    """Return an answer as it would stand in that of a batch; if it is no JSON, as it is."""
    try:
        return canonical(json.loads(body))
    except ValueError:
        return body


def keeps_a_key_as_long_as_it_says(receiver: Receiver) -> str:
    """Send the same again when most of the time is over."""
    assert receiver.expires_after is not None
    seconds = SHARE_OF_LIFE * receiver.expires_after
    key, body = receiver.fresh()
    first = receiver.post(key, body)
    receiver.wait(seconds)
    again = receiver.post(key, body)
    if not again.repeats(first):
        return f"first {first}, and {seconds:g} s later {again}"
    changed = receiver.post(key, other(body))
    if changed.status != OTHER_BODY:
        return f"another body under the same key, {seconds:g} s later: {changed}"
    return ""


def begins_anew_with_an_expired_key(receiver: Receiver) -> str:
    """Send another body under a key whose time is over: it is refused, or is a first request.

    Half known is wrong: the first answer for another body, an error, or a request that is taken
    again with each repetition.
    """
    key = receiver.expired_key
    before = None
    if key is None:
        assert receiver.expires_after is not None
        key, body = receiver.fresh()
        before = receiver.post(key, body)
        receiver.wait(BEYOND_LIFE * receiver.expires_after)
    _, body = receiver.fresh()
    first = receiver.post(key, body)
    if first.status in range(400, 500):
        return ""
    if not first.is_success:
        return f"another body under an expired key: {first}"
    if before and first.body == before.body:
        return f"another body under an expired key had the old answer: {first}"
    again = receiver.post(key, body)
    if not again.repeats(first):
        return f"taken under an expired key with {first}, and again {again}"
    changed = receiver.post(key, other(body))
    if changed.status != OTHER_BODY:
        return f"taken under an expired key with {first}, and with another body {changed}"
    return ""


def no_batch(receiver: Receiver) -> str:
    """Return the option that says where batches go."""
    return "" if receiver.batch_url else "--batch"


def no_lifetime(receiver: Receiver) -> str:
    """Return the option that says how long a key is kept."""
    return "--expires-after" if receiver.expires_after is None else ""


def no_expiry(receiver: Receiver) -> str:
    """Return the option that names an expired key, or tells when one expires."""
    is_given = receiver.expired_key is not None or receiver.expires_after is not None
    return "" if is_given else "--expired or --expires-after"


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
    Check("batch", "each entry of a batch has its own answer", answers_each_entry, no_batch),
    Check(
        "batch twice",
        "the same entry twice in a batch has one answer",
        takes_an_entry_once_in_a_batch,
        no_batch,
    ),
    Check(
        "batch bad",
        "a bad entry of a batch is refused alone",
        takes_the_good_beside_a_bad_one,
        no_batch,
    ),
    Check(
        "batch again",
        "the same batch again has the same answers",
        answers_a_batch_the_same_again,
        no_batch,
    ),
    Check(
        "batch split",
        "in other batches and alone, each entry has the same answer",
        knows_the_entries_of_a_batch_apart,
        no_batch,
    ),
    Check(
        "kept",
        "a key is known for as long as the receiver says",
        keeps_a_key_as_long_as_it_says,
        no_lifetime,
    ),
    Check(
        "expired",
        "an expired key is refused or begins anew, and is never half known",
        begins_anew_with_an_expired_key,
        no_expiry,
    ),
)
