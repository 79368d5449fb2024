"""`pipeline dead-letters replay` and `skip`: one effect for each letter, and no circles."""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from psycopg.errors import InsufficientPrivilege

from contract.events import ACCEPTED
from ops.letters import acts
from ops.letters.acts import (
    DEAD_AGAIN,
    GONE,
    WAITING,
    Act,
    Outcome,
    choose,
    follow_earlier,
    is_good,
    replay,
    skip,
)
from ops.letters.command import Filter, count_letters, find_letter
from ops.letters.original import Headers, Original, find_originals
from ops.stack.stack import Stack
from ops.trace.command import trace
from ops.trace.databases import Position
from service.record import VALUE_KEPT
from tests.builders import value
from tests.client import (
    Sent,
    away,
    connect,
    counts,
    exactly_one,
    fresh,
    query,
    send,
    until_handled,
)
from tests.reconciliation import all_matched, hop
from tests.refusing import FOR_ONE, changed, execute
from tests.stacks import JudgeSince

QUICK = {"REFUSAL_PROBE_SECONDS": "0.1", "REFUSAL_LIMIT": "1000"}
ACT = Act("somebody", "the constraint is gone")
CHECK = FOR_ONE["a CHECK"]
EVERY = Filter(reason="no_13")
TOPIC = os.environ.get("INPUT_TOPIC", "order.events")


@pytest.fixture
def quick(spoiled: Stack) -> Iterator[Stack]:
    """A service that buries whatever one cause refuses, as long as other messages pass."""
    until_handled()
    execute("truncate refusal, refusal_allowed")
    spoiled.start("service", env=QUICK)
    yield spoiled
    spoiled.start("service")


@pytest.fixture
def nothing_open(quick: Stack) -> None:
    """What earlier tests have left is closed."""
    left = choose(os.environ, Filter(), [], again=True)
    skip(os.environ, left, Act("a test", "of an earlier test"))


def bury(letters: int) -> list[str]:
    """Have so many good orders buried by a constraint that is gone afterwards."""
    prefix = fresh("replay")
    ids = [f"{prefix}-{n}" for n in range(letters)]
    with changed(CHECK.change, CHECK.mend):
        send([Sent(one, one, value(one, customer_id="c-13")) for one in ids])
        until_handled()
    assert len(choose(os.environ, EVERY, [])) == letters
    return ids


def send_again() -> list[Outcome]:
    """Replay what is open."""
    chosen = choose(os.environ, EVERY, [])
    return replay(os.environ, chosen, ACT, 1_000, lambda _: None)


def states(outcomes: Sequence[Outcome]) -> list[str]:
    """What has become of each."""
    return [outcome.state for outcome in outcomes]


def count(wanted: Filter) -> int:
    """How many letters there are."""
    return sum(row["letters"] for row in count_letters(os.environ, wanted))


def test_what_was_mended_is_sent_again_once(nothing_open: None) -> None:
    """Thirty letters, replayed twice: each order has one effect."""
    ids = bury(30)
    outcomes = send_again()
    assert states(outcomes) == [ACCEPTED] * 30
    assert is_good(outcomes, 30)
    assert choose(os.environ, EVERY, []) == []
    assert send_again() == []
    exactly_one(ids)


@pytest.mark.prove
def test_a_replay_reconciles(stack: Stack, judge_since: JudgeSince) -> None:
    """A record that is sent again and dead again is one more record with a letter of its own."""
    wrong = fresh("wrong")
    [(partition, offset)] = send([Sent(wrong, wrong, b"{")])
    until_handled()
    named = choose(os.environ, Filter(), [f"{TOPIC}/{partition}/{offset}"])
    outcomes = replay(os.environ, named, ACT, 1_000, lambda _: None)
    assert states(outcomes) == [DEAD_AGAIN]
    result = all_matched(judge_since(full=True))
    still_open, there = count(Filter()), count(Filter(closed=True))
    assert result["letters"] == {"open": still_open, "closed": there - still_open}
    assert hop(result, "dead letter → outbox")["matched"] >= 2


def test_control_where_nothing_was_mended_the_first_one_stops_it(nothing_open: None) -> None:
    """One is dead again, and 29 are left; what a replay left is never replayed by itself."""
    bury(30)
    with changed(CHECK.change, CHECK.mend):
        chosen = choose(os.environ, EVERY, [])
        outcomes = replay(os.environ, chosen, ACT, 1_000, lambda _: None)
        assert states(outcomes) == [DEAD_AGAIN]
        assert "no_13" in outcomes[0].reason
        assert not is_good(outcomes, 30)
    left = choose(os.environ, EVERY, [])
    assert left == chosen[1:]
    again = find_letter(os.environ, str(outcomes[0].position))
    assert again is not None
    [act] = again.acts
    partition, offset = act["sent"].split("/")
    named = choose(os.environ, Filter(), [f"{TOPIC}/{partition}/{offset}"])
    assert len(named) == 1


class KilledError(Exception):
    """A replay that is killed."""


def test_a_replay_that_is_killed_goes_on(
    nothing_open: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed after records were sent and before that was noted: run anew, one effect each."""
    ids = bury(8)
    with monkeypatch.context() as patched:
        die_once(patched, acts.note_place)
        with pytest.raises(KilledError):
            send_again()
    until_handled()
    assert set(states(send_again())) == {ACCEPTED}
    assert choose(os.environ, EVERY, []) == []
    exactly_one(ids)
    [message, *letters] = trace(os.environ, ids[0])
    assert message.title.endswith(ACCEPTED)
    sent_again = [hop.what for hop in letters[0].hops if hop.name == "replay"]
    assert sent_again[-1].startswith(f"sent again as {TOPIC}/")


def die_once(monkeypatch: pytest.MonkeyPatch, step: Callable[..., object], times: int = 3) -> None:
    """End the replay where this step would begin for the last of these times."""
    calls = []

    def die(*arguments: object) -> object:
        calls.append(arguments)
        if len(calls) == times:
            raise KilledError
        return step(*arguments)

    monkeypatch.setattr(acts, step.__name__, die)


def test_control_a_replay_under_new_ids_has_an_effect_for_each_time(
    nothing_open: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same kill, with a message id of its own for each record: more effects than letters."""
    bury(8)
    new_ids: list[str] = []
    with monkeypatch.context() as patched:
        patched.setattr(acts, "find_originals", renamed(new_ids))
        with patched.context() as killed:
            die_once(killed, acts.note_place)
            with pytest.raises(KilledError):
                send_again()
        until_handled()
        send_again()
    decided = sum(counts(new_ids)["outbox"].values())
    assert decided == len(new_ids) > 8


def renamed(new_ids: list[str]) -> Callable[..., dict[Position, Original]]:
    """Find the bytes of letters, each under a message id that nobody has seen."""

    def find(*given: Any) -> dict[Position, Original]:
        found = find_originals(*given)
        for position, original in found.items():
            new_ids.append(fresh("new"))
            headers: Headers = [("message_id", new_ids[-1])]
            found[position] = original._replace(headers=headers)
        return found

    return find


def test_a_copy_that_nobody_noted_is_not_sent_by_itself(
    nothing_open: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed before it was noted where the record went, which is dead again: its header says so."""
    bury(3)
    with changed(CHECK.change, CHECK.mend):
        [first, *others] = choose(os.environ, EVERY, [])
        with monkeypatch.context() as patched:
            die_once(patched, acts.note_place, times=1)
            with pytest.raises(KilledError):
                send_again()
        until_handled()
    assert choose(os.environ, EVERY, []) == [first, *others]
    assert len(choose(os.environ, EVERY, [], again=True)) == 4
    assert set(states(send_again())) == {ACCEPTED}


def test_what_was_not_followed_to_its_end_is_followed_first(
    quick: Stack, nothing_open: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the service is down a letter is open and on its way, and is not sent once more."""
    ids = bury(2)
    [letter, other] = choose(os.environ, EVERY, [])
    with away(quick, "service"), monkeypatch.context() as patched:
        patched.setattr(acts, "STANDSTILL_SECONDS", 0.5)
        assert states(send_again()) == [WAITING]
    assert choose(os.environ, EVERY, []) == [other]
    assert choose(os.environ, EVERY, [str(letter)]) == [letter]
    [row] = count_letters(os.environ, EVERY)
    assert (row["letters"], row["on_their_way"]) == (2, 1)
    until_handled()
    assert follow_earlier(os.environ) == [Outcome(letter, ACCEPTED)]
    assert follow_earlier(os.environ) == []
    assert states(send_again()) == [ACCEPTED]
    exactly_one(ids)


def test_what_kafka_has_deleted_is_sent_from_the_outbox(nothing_open: None) -> None:
    """Whole if it was short enough to be kept; else its bytes are gone, and it stays open."""
    [message_id] = bury(1)
    long = fresh("long")
    [(partition, offset)] = send([Sent(long, long, b"{" + b" " * VALUE_KEPT + b"}")])
    until_handled()
    too_long = choose(os.environ, Filter(), [f"{TOPIC}/{partition}/{offset}"])
    assert len(too_long) == 1
    admin = AdminClient({"bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"]})
    everything = [TopicPartition(TOPIC, number, -1) for number in range(3)]
    for deleted in admin.delete_records(everything).values():
        deleted.result(30)
    assert states(send_again()) == [ACCEPTED]
    assert states(replay(os.environ, too_long, ACT, 1_000, lambda _: None)) == [GONE]
    assert choose(os.environ, Filter(), [str(too_long[0])]) == too_long
    exactly_one([message_id])


def test_what_is_skipped_is_closed_with_its_reason(nothing_open: None) -> None:
    """It is not counted, and a look at it says who has closed it and why."""
    bury(3)
    first, *others = choose(os.environ, EVERY, [])
    skip(os.environ, [first], Act("somebody", "a test order"))
    assert choose(os.environ, EVERY, []) == others
    assert count(EVERY) == 2
    assert count(EVERY._replace(closed=True)) >= 3
    letter = find_letter(os.environ, str(first))
    assert letter is not None
    [act] = letter.acts
    assert (act["act"], act["by"], act["why"]) == ("skip", "somebody", "a test order")
    [(rows,)] = query(
        "select count(*) from dead_letter_act where act = 'skip' and why = 'a test order'"
    )
    assert rows == 1


@pytest.mark.parametrize(
    "change", ["update dead_letter_act set why = 'another'", "delete from dead_letter_act"]
)
def test_no_act_can_be_changed_or_taken_back(quick: Stack, change: str) -> None:
    """The role that writes acts may add some, and say where a record went."""
    with connect(role="resender") as session, pytest.raises(InsufficientPrivilege):
        session.execute(change.encode())
