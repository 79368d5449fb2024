"""`pipeline trace`: every hop of an order that is there, and a sentence for each that is not."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from contract.events import ACCEPTED, EVENTS, REJECTED
from contract.names import DATABASE
from contract.order import VALUE_LIMIT
from contract.samples import Sample, every_sample
from ops.stack.stack import Stack
from ops.trace.command import is_fine, trace
from ops.trace.hops import DELETED, MISSING, THERE, WAITING, Hop, Trace
from spark.judging.settled import Options
from spark.parts import load_parts
from spark.reconcile import run
from spark.settings import Settings as SparkSettings
from tests.client import Sent, away, connect, fresh, send, until, until_handled
from tests.load import orders
from tests.reconciliation import all_matched
from tests.stacks import JudgeSince

[ACCEPTED_TYPE] = [event.aggregate_type for event in EVENTS if event.outcome == ACCEPTED]


def send_samples(*samples: Sample) -> list[str]:
    """Send samples, and return where they are."""
    records = [Sent(one.message_id, one.order_id, one.value) for one in samples]
    topic = os.environ["INPUT_TOPIC"]
    return [f"{topic}/{partition}/{offset}" for partition, offset in send(records)]


def pair(kind: str) -> tuple[Sample, Sample]:
    """Return a good sample, and one of this kind that refers to it."""
    samples = every_sample(fresh("trace"))
    [*_, number] = [number for number, sample in enumerate(samples) if sample.kind == kind]
    return samples[number - 1], samples[number]


def until_traced(
    wanted: str, done: Callable[[list[Trace]], bool], what: str, **more: str
) -> list[Trace]:
    """Wait until a trace is like that."""
    env = {**os.environ, **more}
    return until(lambda: trace(env, wanted), done, 30, what)


def states(one: Trace) -> dict[str, str]:
    """Return the state of each hop; of hops with one name, the last."""
    return {hop.name: hop.state for hop in one.hops}


def hop_of(one: Trace, name: str) -> Hop:
    """Return the first hop of this name."""
    return next(hop for hop in one.hops if hop.name == name)


def has_every_event(traces: list[Trace]) -> bool:
    """Return whether all that was written is on its topic."""
    names = [hop.name for one in traces for hop in one.hops if hop.state == THERE]
    return names.count("event") == names.count("outbox") and "audit entry" in names


def test_an_order_is_there_at_every_hop(
    stack: Stack, judge_next: JudgeSince, common_lake: Path
) -> None:
    """Both messages of an order, from the records to the reconciliation, by any of its ids."""
    first, second = pair("second")
    positions = send_samples(first, second)
    until_handled()
    until_traced(first.order_id, has_every_event, "both messages are published")
    judge_next()
    lake = {"DELTA_ROOT": str(common_lake)}
    traces = trace({**os.environ, **lake}, first.order_id)
    assert [one.title.rpartition(": ")[2] for one in traces] == [ACCEPTED, REJECTED]
    assert is_fine(traces)
    for one in traces:
        assert {hop.state for hop in one.hops} == {THERE}, one
        assert hop_of(one, "record").what in positions
        assert ", trace " in hop_of(one, "outbox").what
        assert hop_of(one, "reconciled").what.endswith("has found nothing wrong with it")
    for wanted in (positions[0], first.message_id):
        assert trace({**os.environ, **lake}, str(wanted)) == traces[:1]


def test_a_dead_letter_is_found_by_key_and_position_and_says_why(stack: Stack) -> None:
    """The reason names the field, and its event is on its topic."""
    _, letter = pair("invalid")
    is_too_large = len(letter.value or b"") > VALUE_LIMIT
    kind = "too_large" if is_too_large else "invalid"
    [position] = send_samples(letter)
    until_handled()
    for wanted in (letter.order_id, position):
        [one] = until_traced(wanted, has_letter_on_topic, "the letter is published")
        assert hop_of(one, "dead letter").what.startswith(f"{kind}: {letter.reason}")
        assert one.title == f"dead letter {position}"


def has_letter_on_topic(traces: list[Trace]) -> bool:
    """Return whether the event of a dead letter is on its topic."""
    return bool(traces) and states(traces[0]).get("event") == THERE


def test_what_waits_says_where(spoiled: Stack) -> None:
    """Before the service, before the audit receiver, and in an outbox that nobody reads."""
    first, _ = pair("second")
    wanted = first.order_id
    with away(spoiled, "connect"), away(spoiled, "audit"):
        with away(spoiled, "service"):
            [position] = send_samples(first)
            [one] = trace(dict(os.environ), wanted)
            assert [(hop.state, hop.what) for hop in one.hops] == [
                (WAITING, f"{position}, not handled yet")
            ]
        [one] = until_traced(wanted, lambda found: len(found[0].hops) > 1, "it is handled")
        assert not one.is_fine()
        assert states(one)["audit"] == WAITING
        event = hop_of(one, "event")
        assert event.state == WAITING
        assert f"slot {DATABASE}_outbox is" in event.what
        assert event.what.endswith("and is NOT read")
    until_handled()


@contextmanager
def noted_as_retired() -> Iterator[None]:
    """Have a note that retention has deleted all events of the topic, for the time of a block."""
    note = "insert into retired values (%s, %s, 0, 0)"
    with connect(role="postgres") as admin:
        admin.execute(note, [ACCEPTED_TYPE, 2**62])
        try:
            yield
        finally:
            admin.execute("delete from retired where written_before = %s", [2**62])


@pytest.mark.parametrize("is_retired", [True, False], ids=["retired", "control: lost"])
def test_what_was_old_enough_to_go_is_told_from_what_is_lost(
    spoiled: Stack, is_retired: bool
) -> None:
    """An event that is nowhere is fine if retention has noted it, and missing if not."""
    first, _ = pair("second")
    send_samples(first)
    until_handled()
    until_traced(str(first.message_id), has_every_event, "it is published")
    never_published = fresh("trace")
    with connect(role="postgres") as admin:
        admin.execute("delete from tracking where message_id = %s", [first.message_id])
        admin.execute("delete from outbox where aggregate_id = %s", [first.order_id])
        change = "update fulfillment set message_id = %s where message_id = %s"
        admin.execute(change, [never_published, first.message_id])
    with noted_as_retired() if is_retired else nullcontext():
        [one] = trace(dict(os.environ), never_published)
    state = DELETED if is_retired else MISSING
    assert hop_of(one, "tracking").state == DELETED
    assert (hop_of(one, "outbox").state, hop_of(one, "event").state) == (state, state)


@pytest.mark.parametrize(
    ("seconds", "is_found"), [(30, True), (120, False)], ids=["within", "control: beyond"]
)
def test_clocks_may_differ_by_a_minute(spoiled: Stack, seconds: int, is_found: bool) -> None:
    """An event is found though its row seems to be younger, because Postgres' clock is ahead."""
    first, _ = pair("second")
    send_samples(first)
    until_handled()
    wanted = str(first.message_id)
    until_traced(wanted, has_every_event, "it is published")
    change = "update tracking set handled_at = handled_at + make_interval(secs => %s)"
    with connect(role="postgres") as admin:
        admin.execute(f"{change} where message_id = %s", [seconds, wanted])
    [one] = trace(dict(os.environ), wanted)
    assert (hop_of(one, "event").state == THERE) == is_found


def test_the_command_says_what_is_not_known(stack: Stack) -> None:
    """Exit code 1 and a sentence with the way out; 2 if there is nobody to ask."""
    command = [sys.executable, "-m", "ops", "trace", "no-such-order"]
    env = {**stack.env(), "ATTACH": "true"}
    known = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert known.returncode == 1
    assert "nothing is known of no-such-order" in known.stdout
    nobody = {**env, "DATABASE_URL": "postgresql://app@127.0.0.1:1/fulfillment"}
    unknown = subprocess.run(command, env=nobody, capture_output=True, text=True, check=False)
    assert unknown.returncode == 2
    assert "Postgres does not answer" in unknown.stderr


MANY, AT_ONCE = 1_000_000, 20_000
TRACE_SECONDS = 2.0


@pytest.mark.prove
def test_beside_a_million_it_answers_in_two_seconds(
    stack: Stack, spark: SparkSession, delta_root: Path
) -> None:
    """The first, one in the middle and the last, through every hop that a million have passed."""
    wanted = []
    for number in range(MANY // AT_ONCE):
        ids = orders(AT_ONCE)
        if number in (0, MANY // AT_ONCE // 2, MANY // AT_ONCE - 1):
            wanted += [ids[0], ids[-1]]
        until_handled(300)
    options = Options(land=True, ledger=None, deadline=time.monotonic() + 1_800)
    settings = SparkSettings(delta_root=str(delta_root))
    all_matched(run(spark, settings, load_parts(), options))

    env = {**stack.env(), "ATTACH": "true", "DELTA_ROOT": str(delta_root)}
    took = {one: seconds_of_trace(env, one) for one in wanted}
    print(f"seconds: {took}")  # noqa: T201
    assert max(took.values()) < TRACE_SECONDS


def seconds_of_trace(env: Mapping[str, str], wanted: str) -> float:
    """Return how long the command takes to say that it is there at every hop."""
    command = [sys.executable, "-m", "ops", "trace", wanted]
    started = time.monotonic()
    traced = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - started
    assert traced.returncode == 0, traced.stdout + traced.stderr
    assert "has found nothing wrong with it" in traced.stdout
    return seconds
