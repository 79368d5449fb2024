"""Many dead letters of a dozen reasons, worked off by a replay that is killed again and again."""

import os
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from typing import NamedTuple

import pytest

from contract.events import ACCEPTED
from contract.samples import INVALID, Sample, conflict, invalid, make_order
from ops.letters.acts import DEAD_AGAIN, Act, choose, follow_earlier, replay, skip
from ops.letters.command import Filter, count_letters
from ops.stack.stack import Stack
from service.record import VALUE_KEPT
from tests.builders import value
from tests.client import Sent, connect, exactly_one, fresh, query, send, until, until_handled
from tests.reconciliation import all_matched, hop
from tests.refusing import CHECK, DROP_CHECK, changed, execute
from tests.stacks import JudgeSince

SEED = 20261126
LETTERS = 1_000
MENDED = ("13", "14", "15")  # customers whose orders a CHECK of their own refuses, for a while
CONFLICT, CUT_SHORT, TWO_IDS = "a conflict", "cut short", "two message ids"
NEVER_MENDED = (CONFLICT, CUT_SHORT, TWO_IDS, *list(INVALID)[:6])
ACT = Act("somebody", "it is mended, or nobody needs it")
QUICK = {"REFUSAL_PROBE_SECONDS": "0.01", "REFUSAL_LIMIT": "100000"}
ACTS = "select count(*) from dead_letter_act where acted_at >= %s and act = %s"
ENDS = "select outcome, count(*) from dead_letter_act where acted_at >= %s group by outcome"


class Buried(NamedTuple):
    """Dead letters: those of good messages, and how many more."""

    good: list[str]
    others: int
    since: datetime

    def filter(self, reason: str = "") -> Filter:
        """Return what means these letters, and what has come of them."""
        return Filter(reason=reason, since=self.since)


@pytest.fixture
def quick(stack: Stack) -> Iterator[Stack]:
    """A service that buries whatever one cause refuses, as long as other messages pass."""
    until_handled()
    execute("truncate refusal, refusal_allowed")
    stack.start("service", env=QUICK)
    yield stack
    stack.start("service")


@contextmanager
def refused_customers() -> Iterator[None]:
    """Let the database refuse what some customers send, each with a reason of its own."""
    with ExitStack() as constraints:
        for number in MENDED:
            change = CHECK.format(f"customer_id <> 'c-{number}'")
            pair = [text.replace("no_13", f"no_{number}") for text in (change, DROP_CHECK)]
            constraints.enter_context(changed(*pair))
        yield


def bury(count: int) -> Buried:
    """Send as many records that become dead letters, half of them good ones that are refused."""
    since = datetime.now(UTC)
    prefix = fresh("trial")
    good = [f"{prefix}-{number}" for number in range(count // 2)]
    records = []
    for number, message_id in enumerate(good):
        content = value(message_id, customer_id=f"c-{MENDED[number % len(MENDED)]}")
        records.append(Sent(message_id, message_id, content))
    rng = random.Random(SEED)  # noqa: S311 - repeatable, not secret
    firsts = [make_order(rng, f"{prefix}-other", number) for number in range(count - len(good))]
    send([as_sent(first) for first in firsts[:: len(NEVER_MENDED)]])
    for number, first in enumerate(firsts):
        records.append(spoil(first, NEVER_MENDED[number % len(NEVER_MENDED)]))
    until_handled()
    rng.shuffle(records)
    send(records)
    until_handled(300)
    return Buried(good, len(firsts), since)


def spoil(first: Sample, reason: str) -> Sent:
    """Return a record that becomes a dead letter for this reason; a conflict needs the good one."""
    if reason == CONFLICT:
        return as_sent(conflict(first))
    if reason == CUT_SHORT:
        return as_sent(first)._replace(value=b" " * (VALUE_KEPT + 1))
    if reason == TWO_IDS:
        return as_sent(first)._replace(headers=[("message_id", "another")])
    return as_sent(invalid(first, reason))


def as_sent(sample: Sample) -> Sent:
    """Return a sample as a record to send."""
    return Sent(sample.message_id, sample.order_id, sample.value)


def command(*words: str) -> list[str]:
    """Return what is typed about dead letters."""
    return [sys.executable, "-m", "ops", "dead-letters", *words]


def attached() -> dict[str, str]:
    """Return the environment of a command on the stack that is up."""
    return {**os.environ, "ATTACH": "true"}


def send_again(buried: Buried, reason: str = "", *, again: bool = False) -> list[str]:
    """Replay what is open of these; return what has become of each."""
    follow_earlier(os.environ)
    chosen = choose(os.environ, buried.filter(reason), [], again=again)
    outcomes = replay(os.environ, chosen, ACT, 10_000, lambda _: None)
    return [one.state for one in outcomes]


def count_open(buried: Buried, reason: str = "") -> int:
    """How many letters `list` counts."""
    counts = count_letters(os.environ, buried.filter(reason))
    return sum(row["letters"] for row in counts)


def count_chosen(buried: Buried, reason: str = "", *, again: bool = False) -> int:
    """How many letters a replay would send."""
    return len(choose(os.environ, buried.filter(reason), [], again=again))


def replay_and_kill(buried: Buried, rate: int, after: Sequence[int]) -> int:
    """Begin a replay again and again, and kill each after so many acts of all; return the kills."""
    words = ["replay", "--yes", "--why", ACT.why, "--reason", "no_1"]
    words += ["--since", buried.since.isoformat(), "--rate", str(rate)]
    killed = 0
    with connect() as session:
        for wanted in after:
            child = subprocess.Popen(
                command(*words),
                env=attached(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )

            def progress() -> tuple[int, int | None]:
                [(acts,)] = session.execute(ACTS, (buried.since, "replay")).fetchall()
                return acts, child.poll()  # noqa: B023 - looked at within the turn

            def is_time(seen: tuple[int, int | None]) -> bool:
                acts, code = seen
                return acts >= wanted or code is not None  # noqa: B023

            until(progress, is_time, 120, f"the replay has not made {wanted} acts")
            child.kill()
            killed += child.wait() == -9
    return killed


@pytest.mark.prove
def test_what_is_mended_has_one_effect_and_the_rest_goes_nowhere(
    quick: Stack, judge_since: JudgeSince
) -> None:
    """Killed again and again by a seed, run to its end, and run whole once more: one effect each.

    What is not mended is dead again once for each time that somebody asks for it, until it is
    skipped. Every act is a row, `list` says what is open, and all of it reconciles.
    """
    with refused_customers():
        buried = bury(LETTERS)
        assert count_open(buried) == LETTERS
        assert send_again(buried, "no_1") == [DEAD_AGAIN]
    assert count_open(buried) == LETTERS

    good = len(buried.good)
    rng = random.Random(SEED)  # noqa: S311 - repeatable, not secret
    after = sorted(rng.sample(range(2, good), 4))
    assert replay_and_kill(buried, rate=max(20, good // 5), after=after) >= 3
    until_handled()
    assert set(send_again(buried, "no_1")) == {ACCEPTED}
    assert count_open(buried, "no_1") == 1, "the one that was too early"
    assert count_chosen(buried, "no_1") == 0, "it goes in no circle"
    assert send_again(buried, "no_1", again=True) == [ACCEPTED]
    assert send_again(buried, "no_1", again=True) == []
    exactly_one(buried.good)

    assert count_chosen(buried) == buried.others
    for turn in range(1, 3):
        assert send_again(buried) == [DEAD_AGAIN]
        assert count_chosen(buried) == buried.others - turn
        assert count_chosen(buried, again=True) == count_open(buried) == buried.others
    assert send_again(buried, again=True) == [DEAD_AGAIN]

    skip(os.environ, choose(os.environ, buried.filter(), [], again=True), ACT)
    assert count_open(buried) == 0
    since = ("--since", buried.since.isoformat())
    shown = subprocess.check_output(command("list", *since), env=attached(), text=True)
    assert shown == "no dead letters\n"
    ends = dict(query(ENDS, buried.since))
    assert (ends[ACCEPTED], ends[DEAD_AGAIN]) == (good, 4)
    [(skips,)] = query(ACTS, buried.since, "skip")
    assert skips == buried.others

    result = all_matched(judge_since(full=True))
    assert result["letters"]["closed"] >= LETTERS + 4
    assert hop(result, "dead letter → outbox")["matched"] >= LETTERS + 4
