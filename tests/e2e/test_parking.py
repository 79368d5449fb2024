"""PARK=true: what comes behind a dead letter of its key waits, and goes on in its sequence."""

import os
from collections.abc import Iterator, Sequence
from functools import partial
from random import Random
from signal import SIGKILL

import pytest

from contract.events import ACCEPTED, EVENTS, REJECTED
from contract.names import SUBSCRIBER
from ops.letters.acts import Act, choose, replay, skip
from ops.letters.command import Filter
from ops.stack.stack import Stack
from tests.builders import value
from tests.client import Sent, counts, exactly_one, fresh, query, send, until
from tests.client import until_handled as until_committed
from tests.own_service import make_topic, own_service
from tests.reconciliation import all_matched, hop
from tests.refusing import FOR_ONE, changed, execute
from tests.stacks import JudgeSince

OUTCOMES = {event.event_type: event.outcome for event in EVENTS if event.outcome}
PARK = {"PARK": "true", "REFUSAL_PROBE_SECONDS": "0.1", "REFUSAL_LIMIT": "1000"}
ACT = Act("somebody", "it was looked at")
CHECK = FOR_ONE["a CHECK"]
REFUSED = "c-13"  # the customer that the constraint refuses
POISON = b"{"
SECONDS = 60


@pytest.fixture
def parking(spoiled: Stack) -> Iterator[Stack]:
    """The service of a stack, with PARK=true; nothing is held when the test begins."""
    until_committed()
    execute("truncate refusal, refusal_allowed, held_key, parked")
    spoiled.start("service", env=PARK)
    yield spoiled
    skip(os.environ, choose(os.environ, Filter(), [], again=True), Act("a test", "it is over"))
    until_nothing_waits()
    spoiled.start("service")


def parked() -> list[str]:
    """Return where the records are that wait, in their sequence."""
    rows = query('select topic, partition, "offset" from parked order by id')
    return ["/".join(map(str, row)) for row in rows]


def until_nothing_waits() -> None:
    """Wait until every record that waited is handled."""
    until(parked, lambda waiting: not waiting, SECONDS, "records still wait")


def skip_letter(place: tuple[int, int]) -> None:
    """Skip the letter of a record."""
    position = f"{os.environ['INPUT_TOPIC']}/{place[0]}/{place[1]}"
    letters = choose(os.environ, Filter(), [position], again=True)
    assert len(letters) == 1, position
    skip(os.environ, letters, ACT)


def outcomes(ids: Sequence[str]) -> list[str]:
    """Return these messages in the sequence in which they had their effects, with the outcomes."""
    rows = query(
        """
        select payload->>'message_id', event_type
        from outbox
        where payload->>'message_id' = any(%s) and event_type = any(%s)
        order by seq
        """,
        list(ids),
        list(OUTCOMES),
    )
    return [f"{message_id} {OUTCOMES[event_type]}" for message_id, event_type in rows]


def send_behind_a_letter(key: str, count: int) -> tuple[tuple[int, int], list[str]]:
    """Send what is no message, and so many messages of the same key; return where, and the ids."""
    ids = [f"{key}-{n}" for n in range(count)]
    first, *_ = send([Sent(key, key, POISON), *(Sent(one, key, value(key)) for one in ids)])
    return first, ids


def test_a_replay_goes_before_what_came_behind_it(parking: Stack) -> None:
    """Refused by the database and replayed, the first message still wins; other keys never waited.

    Control: without PARK, the second one has overtaken it.
    """
    first, second, other = fresh("first"), fresh("second"), fresh("other")
    bury_the_first(first, second, other)
    assert counts([first, second, other])["fulfillment"] == {other: 1}
    assert len(parked()) == 1
    assert replayed() == [ACCEPTED]
    until_nothing_waits()
    assert outcomes([first, second]) == [f"{first} {ACCEPTED}", f"{second} {REJECTED}"]

    parking.start("service", env=PARK | {"PARK": "false"})
    first, second, other = fresh("first"), fresh("second"), fresh("other")
    bury_the_first(first, second, other)
    assert replayed() == [REJECTED]
    assert outcomes([first, second]) == [f"{second} {ACCEPTED}", f"{first} {REJECTED}"]


def bury_the_first(first: str, second: str, other: str) -> None:
    """Send two messages of one key, of which the database refuses the first, and one of another."""
    with changed(CHECK.change, CHECK.mend):
        refused = value(first, customer_id=REFUSED)
        send(
            [
                Sent(first, first, refused),
                Sent(second, first, value(first)),
                Sent(other, other, value(other)),
            ]
        )
        until_committed()


def replayed() -> list[str]:
    """Replay what the constraint has refused, and return what has become of it."""
    chosen = choose(os.environ, Filter(reason="no_13"), [])
    found = replay(os.environ, chosen, ACT, 1_000, lambda _: None)
    return [outcome.state for outcome in found]


def test_one_that_is_dead_again_still_holds_its_key(parking: Stack) -> None:
    """Replayed and refused once more, it is the replay's own letter that holds the others back."""
    first, second, other = fresh("first"), fresh("second"), fresh("other")
    bury_the_first(first, second, other)
    with changed(CHECK.change, CHECK.mend):
        assert replayed() == ["dead again"]
        assert len(parked()) == 1
    [(offset,)] = query('select "offset" from held_key where subscriber = %s', SUBSCRIBER)
    again = choose(os.environ, Filter(reason="no_13"), [], again=True)
    assert [letter.offset for letter in again] == [offset]
    skip(os.environ, again, ACT)
    until_nothing_waits()
    assert outcomes([second]) == [f"{second} {ACCEPTED}"]


def test_what_waited_goes_on_in_its_sequence(parking: Stack) -> None:
    """Skipped, the letter lets them go one by one, up to the next that is no message."""
    key = fresh("key")
    ids = [f"{key}-{n}" for n in range(4)]
    wrong, also_wrong, *_ = places = send(
        [
            Sent(key, key, POISON),
            Sent(f"{key}-wrong", key, POISON),
            *(Sent(one, key, value(key)) for one in ids[:3]),
        ]
    )
    until_committed()
    assert len(parked()) == len(places) - 1
    skip_letter(wrong)
    until(holders, lambda found: found == [also_wrong], SECONDS, "the next one does not hold it")
    assert len(parked()) == 3
    send([Sent(ids[3], key, value(key))])
    until_committed()
    assert outcomes(ids) == []
    skip_letter(also_wrong)
    until_nothing_waits()
    first, *others = ids
    assert outcomes(ids) == [f"{first} {ACCEPTED}", *(f"{one} {REJECTED}" for one in others)]


def holders() -> list[tuple[int, int]]:
    """Return where the letters are that hold a key."""
    return query('select partition, "offset" from held_key order by held_at')


@pytest.mark.prove
@pytest.mark.parametrize("rounds", [1, 3])
def test_killed_again_and_again_nothing_is_lost_doubled_or_overtaken(
    stack: Stack, judge_since: JudgeSince, rounds: int
) -> None:
    """Keys that wait and go on under kills: one effect each, in sequence, and it reconciles.

    While they wait they are `parked`: no defect, and judged once they went on.
    """
    seed = 20261126
    print(f"seed {seed}")  # noqa: T201
    random = Random(seed)  # noqa: S311 - the same each time
    until_committed()
    stack.start("service", env=PARK)
    try:
        of_key = {}
        letters = []
        for _ in range(7 * rounds):
            key = fresh("key")
            letter, of_key[key] = send_behind_a_letter(key, 5)
            letters.append(letter)
        parked = 5 * len(letters)
        kill_the_service(stack, random)
        until_committed()
        result = all_matched(judge_since(full=True))
        assert hop(result, "tracking or dead letter")["parked"] == parked
        assert result["verdict"].endswith(f"{parked} parked behind dead letters")
        random.shuffle(letters)
        for _ in range(rounds):
            some, letters = letters[:7], letters[7:]
            for letter in some:
                skip_letter(letter)
            kill_the_service(stack, random)
        until_nothing_waits()
        until_committed()
        everything = [one for ids in of_key.values() for one in ids]
        until(
            lambda: counts(everything)["audit_entry"],
            lambda audited: audited.total() == len(everything),
            SECONDS,
            "not all of them are audited",
        )
    finally:
        stack.start("service")
    for ids in of_key.values():
        first, *others = ids
        assert outcomes(ids) == [f"{first} {ACCEPTED}", *(f"{one} {REJECTED}" for one in others)]
    since = all_matched(judge_since())
    assert "judged since" in since["verdict"]
    assert hop(since, "tracking or dead letter")["parked"] == 0


def kill_the_service(stack: Stack, random: Random) -> None:
    """Kill it in the middle of what it does, and start it again; twice."""
    for _ in range(2):
        more = [fresh("more") for _ in range(random.randint(50, 300))]
        send([Sent(one, one, value(one)) for one in more])
        until(partial(find_tracked, more), bool, SECONDS, "nothing of it is handled")
        stack.stop("service", SIGKILL)
        stack.start("service", env=PARK)


def find_tracked(ids: Sequence[str]) -> list[str]:
    """Return which of these messages are handled."""
    rows = query("select message_id from tracking where message_id = any(%s)", list(ids))
    return [row[0] for row in rows]


def test_where_there_is_no_room_all_wait_and_say_so(spoiled: Stack) -> None:
    """At PARK_LIMIT nothing more is handled, nor lost: /readyz names the way out, and it works."""
    topic = make_topic()
    key, other = fresh("key"), fresh("other")
    with own_service(spoiled, topic, **PARK, PARK_LIMIT="2") as service:
        service.until_logged('"event": "assigned"')
        ids = [f"{key}-{n}" for n in range(3)]
        records = [Sent(key, key, POISON), *(Sent(one, key, value(key)) for one in ids)]
        [(partition, offset), *_] = send(records, topic)
        sentence = until(
            lambda: service.get("/readyz")[1],
            lambda text: "PARK_LIMIT=2" in text,
            SECONDS,
            "it is ready",
        )
        assert "2 records wait behind dead letters" in sentence
        assert service.metric("parking_limit_records") == 2
        send([Sent(other, other, value(other))], topic)
        skip(os.environ, choose(os.environ, Filter(), [f"{topic}/{partition}/{offset}"]), ACT)
        until_committed(SECONDS, topic, topic)
        until_nothing_waits()
        exactly_one([other])
        assert len(outcomes(ids)) == 3
        until(lambda: service.metric("parked_records"), lambda n: n == 0, SECONDS, "they wait")


def test_without_park_what_waited_goes_on(spoiled: Stack) -> None:
    """Who turns it off finds nothing stuck: what waits is handled first, and in its sequence."""
    topic = make_topic()
    key, late = fresh("key"), fresh("late")
    ids = [f"{key}-{n}" for n in range(3)]
    with own_service(spoiled, topic, **PARK) as service:
        service.until_logged('"event": "assigned"')
        send([Sent(key, key, POISON), *(Sent(one, key, value(key)) for one in ids)], topic)
        until_committed(SECONDS, topic, topic)
        assert service.stop() == 0
    send([Sent(late, key, value(key))], topic)
    with own_service(spoiled, topic) as service:
        service.until_logged("records_are_parked")
        until_committed(SECONDS, topic, topic)
        until_nothing_waits()
        until(lambda: len(outcomes([late])), bool, SECONDS, "the last one is not handled")
    first, *others = [*ids, late]
    assert outcomes([*ids, late]) == [
        f"{first} {ACCEPTED}",
        *(f"{one} {REJECTED}" for one in others),
    ]
