"""The high-water mark in Postgres: what passes, what is dropped, and what each mark then is."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
from sqlalchemy import Engine

from extras.watermark.store import page
from ops.stack.stack import Stack
from service.database import connect_to
from service.dedup import DedupStore, load_store
from service.handler import split_conflicts
from service.write import write
from tests.builders import record, value
from tests.client import connect, fresh, query

Pass = Callable[[int, int], bool]


class Place(NamedTuple):
    """A subscriber and a topic of this test alone."""

    engine: Engine
    store: DedupStore
    subscriber: str
    topic: str

    def passes(self, partition: int, number: int) -> bool:
        """Whether a new message with this number has an effect."""
        message_id = fresh("m")
        headers: list[tuple[str, bytes | None]] = [("sequence", str(number).encode())]
        [wave] = split_conflicts(
            [record(message_id, value(fresh("o")), headers, self.topic, partition)]
        )
        known = self.store.claim(wave)
        return message_id in known and known[message_id].first

    def marks(self) -> dict[int, int]:
        """Return the mark of each partition."""
        asked = "select partition, sequence from watermark where subscriber = %s and topic = %s"
        return dict(query(asked, self.subscriber, self.topic, role="app"))


@pytest.fixture
def place(spoiled: Stack) -> Iterator[Place]:
    """The store on its real tables."""
    env, subscriber = spoiled.env(), fresh("subscriber")
    engine = connect_to(env["DATABASE_URL"], Path(env["DATABASE_PASSWORD_FILE"]), 5)
    yield Place(
        engine,
        load_store("watermark").make_store(partial(write, engine, subscriber)),
        subscriber,
        fresh("topic"),
    )
    engine.dispose()


@pytest.mark.parametrize("number", [0, 1, 10**18 - 1])
def test_the_first_number_of_a_partition_passes_and_is_stored(place: Place, number: int) -> None:
    """Where there is no mark yet, any number passes, and is the mark from then on."""
    assert place.passes(0, number)
    assert place.marks() == {0: number}


@pytest.mark.parametrize("number", range(2, 8))
def test_a_greater_number_passes_and_raises_the_mark(place: Place, number: int) -> None:
    """2 to 7 over 1."""
    assert [place.passes(0, 1), place.passes(0, number)] == [True, True]
    assert place.marks() == {0: number}


@pytest.mark.parametrize("number", range(1, 8))
def test_a_number_that_is_not_greater_is_dropped_and_nothing_is_written(
    place: Place, number: int
) -> None:
    """1 to 7 at 7: no effect, and the row of the mark is the very same version."""
    assert place.passes(0, 7)
    version = "select xmin::text, ctid::text, sequence from watermark where subscriber = %s"
    before = query(version, place.subscriber, role="postgres")
    assert not place.passes(0, number)
    assert query(version, place.subscriber, role="postgres") == before


def test_each_partition_has_a_mark_of_its_own(place: Place) -> None:
    """The walk over three partitions, with every mark after each step."""
    walk = [(0, 1), (0, 2), (1, 1), (0, 4), (1, 3), (2, 2), (1, 5), (2, 6)]
    expected: dict[int, int] = {}
    for partition, number in walk:
        expected[partition] = number
        assert place.passes(partition, number), (partition, number)
        assert place.marks() == expected
    assert [place.passes(partition, number) for partition, number in walk] == [False] * len(walk)
    assert place.marks() == {0: 4, 1: 5, 2: 6}


def test_control_a_number_that_comes_late_is_lost(place: Place) -> None:
    """Numbers that do not increase lose messages: this is what the store asks of its producers."""
    assert [place.passes(0, 2), place.passes(0, 1), place.passes(0, 3)] == [True, False, True]


def test_the_marks_of_a_partition_can_be_asked_for(place: Place, spoiled: Stack) -> None:
    """By subscriber; a sentence where there is none, or no number, or no database."""
    place.passes(1, 12)
    with connect(role="app") as connection:
        connection.execute("insert into watermark values ('another', %s, 1, 7)", [place.topic])
    marks = f'{{"another":7,"{place.subscriber}":12}}'
    found = page(place.engine, f"/watermarks/{place.topic}/1")
    assert found == (200, f'{{"topic":"{place.topic}","partition":1,"marks":{marks}}}\n')
    assert page(place.engine, "/elsewhere") is None
    answers = {
        word: page(place.engine, f"/watermarks/{place.topic}/{word}")
        for word in ("0", "one", "1234567890")
    }
    assert answers["0"] == (404, f"no subscriber has handled a record of {place.topic}/0\n")
    assert [answer[0] for answer in answers.values() if answer] == [404, 400, 400]
    nowhere = connect_to(
        "postgresql://app@127.0.0.1:1/fulfillment", Path(spoiled.env()["DATABASE_PASSWORD_FILE"]), 1
    )
    assert page(nowhere, f"/watermarks/{place.topic}/1") == (503, "the database does not answer\n")
