"""A message that ends the process: found, buried alone, and nobody else with it."""

import os
from collections.abc import Callable, Sequence

import pytest

from contract.names import SUBSCRIBER
from ops.letters.acts import Act, choose, skip
from ops.letters.command import Filter
from ops.stack.stack import Stack
from service.tries import ALONE, REASON, TOGETHER
from tests.builders import value
from tests.client import Sent, committed, ends, exactly_one, fresh, query, send, until
from tests.e2e.aborting import FATAL
from tests.own_service import OwnService, free_port, make_topic, own_service

MODULE = "tests.e2e.aborting"
# Ends of the process: some more, as long as it is in no batch that a process begins with.
MOST = TOGETHER + ALONE + 3
SECONDS = 60
# It has its partitions back at once, however it ended.
STATIC = {"GROUP_INSTANCE_ID": "one", "BATCH_RECORDS": "20"}


def start_until(
    stack: Stack,
    topic: str,
    module: Sequence[str],
    is_done: Callable[[], bool],
    *,
    settings: dict[str, str] = STATIC,
    most: int = 2 * MOST,
) -> int:
    """Start the service again and again, as an orchestrator does; return how often it has ended."""
    for deaths in range(most):
        with own_service(stack, topic, module, **settings) as service:

            def look(service: OwnService = service) -> tuple[bool, bool]:
                return is_done(), service.process.poll() is not None

            done, _has_ended = until(look, any, SECONDS, "it neither ends nor gets there")
            if done:
                return deaths
    return most


def is_handled(topic: str) -> bool:
    """Return whether everything on a topic is handled."""
    return committed(topic, topic) == ends(topic)


def send_around_a_fatal_one(topic: str, key: str = "") -> tuple[list[str], str]:
    """Send good messages before and behind the fatal one; return their ids, and its id."""
    prefix = fresh("m")
    good = [f"{prefix}-{n}" for n in range(60)]
    fatal = f"{prefix}-{FATAL}"
    ids = [*good[:30], fatal, *good[30:]]
    send([Sent(one, key or one, value(one)) for one in ids], topic)
    return good, fatal


def letters_of(topic: str) -> list[tuple[str, str]]:
    """Return kind and reason of the dead letters of a topic."""
    return query(
        "select kind, reason from dead_letter where subscriber = %s and topic = %s",
        SUBSCRIBER,
        topic,
    )


@pytest.mark.parametrize("step", ["read", "write"])
def test_what_ends_the_process_is_buried_alone(spoiled: Stack, step: str) -> None:
    """Wherever it aborts: after three ends in company and three alone, all others are handled."""
    topic = make_topic()
    good, _fatal = send_around_a_fatal_one(topic)
    deaths = start_until(spoiled, topic, (MODULE, step), lambda: is_handled(topic))
    assert TOGETHER + ALONE <= deaths <= MOST
    assert letters_of(topic) == [("invalid", REASON)]
    exactly_one(good)


def test_control_without_a_count_it_ends_for_ever(spoiled: Stack) -> None:
    """Nobody knows which one it is: nothing behind it is ever handled."""
    topic = make_topic()
    _good, _fatal = send_around_a_fatal_one(topic)
    deaths = start_until(
        spoiled, topic, (MODULE, "write", "count"), lambda: not behind(topic), most=MOST + 2
    )
    assert deaths == MOST + 2
    assert letters_of(topic) == []


def behind(topic: str) -> int:
    """Return how many records of a topic are not handled."""
    handled = committed(topic, topic)
    return sum(end - handled[number] for number, end in ends(topic).items())


@pytest.mark.parametrize("without", ["", "excuse"], ids=["excused", "control: counted"])
def test_ends_in_an_outage_do_not_count(spoiled: Stack, without: str) -> None:
    """Killed again and again while it waits for the audit receiver: no good message is buried.

    Control: where such ends count, one is.
    """
    topic = make_topic()
    good = [fresh("m")]
    send([Sent(one, one, value(one)) for one in good], topic)
    nobody = {"AUDIT_URL": f"http://127.0.0.1:{free_port()}"}
    words = (MODULE, "write", *filter(None, [without]))
    for _ in range(TOGETHER + ALONE):
        with own_service(spoiled, topic, words, **STATIC | nobody) as service:
            service.until_logged('"stage": "post"', count=2)
    deaths = start_until(spoiled, topic, words, lambda: is_handled(topic))
    assert deaths == 0
    if without:
        assert letters_of(topic) == [("invalid", REASON)]
    else:
        assert letters_of(topic) == []
        exactly_one(good)


def test_a_parked_one_that_ends_the_process_is_buried_too(spoiled: Stack) -> None:
    """Its turn comes, and it ends the process until it is buried; then it holds its key itself."""
    topic, key = make_topic(), fresh("key")
    last = f"{key}-last"
    records = [
        Sent(key, key, b"{"),
        Sent(f"{key}-{FATAL}", key, value(key)),
        Sent(last, key, value(last)),
    ]
    first, second, _ = send(records, topic)
    park = STATIC | {"PARK": "true"}
    words = (MODULE, "write")
    assert start_until(spoiled, topic, words, lambda: is_handled(topic), settings=park) == 0
    skip_letter(topic, first)
    deaths = start_until(spoiled, topic, words, lambda: len(letters_of(topic)) == 2, settings=park)
    assert TOGETHER + ALONE <= deaths <= MOST
    skip_letter(topic, second)

    def is_there() -> bool:
        return bool(query("select from tracking where message_id = %s", last))

    assert start_until(spoiled, topic, words, is_there, settings=park) == 0


def skip_letter(topic: str, place: tuple[int, int]) -> None:
    """Skip the letter of a record."""
    position = f"{topic}/{place[0]}/{place[1]}"
    letters = choose(os.environ, Filter(), [position], again=True)
    assert len(letters) == 1, position
    skip(os.environ, letters, Act("somebody", "it was looked at"))
