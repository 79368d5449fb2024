"""A client that has fallen out of its group is found, and one that failed is not asked again."""

from concurrent.futures import Future
from typing import Any, cast

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from access.kafka_admin import Admin, wait_for
from service import membership
from service.membership import Membership
from tests.builders import Clock

OURS = "rdkafka-1"


class Group:
    """A group as its broker knows it, and what we take for our id."""

    def __init__(self) -> None:
        self.members = {OURS, "rdkafka-2"}
        self.our_id: str | None = OURS
        self.answers = True

    def find_members(self) -> set[str]:
        """Return the members, if the broker answers."""
        if not self.answers:
            raise KafkaException
        return self.members


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of the membership."""
    own = Clock()
    monkeypatch.setattr(membership, "time", own)
    return own


def look(group: Group, clock: Clock, *, before: int) -> float:
    """Return for how long we are out after looks that were good, and one a second for ten."""
    ours = Membership(lambda: group.our_id, group.find_members)
    for _ in range(before):
        ours.seconds_out()
    seconds = 0.0
    for _ in range(10):
        clock.now += 1
        seconds = ours.seconds_out()
    return seconds


def test_a_member_is_never_out(clock: Clock) -> None:
    """With or without a partition."""
    assert look(Group(), clock, before=1) == 0


@pytest.mark.parametrize("our_id", ["", "rdkafka-0"], ids=["forgotten", "another"])
def test_whoever_the_group_does_not_have_is_out(clock: Clock, our_id: str) -> None:
    """It counts from the last look at which we were in, or from the start."""
    group = Group()
    group.our_id = our_id
    assert look(group, clock, before=1) == 10


def test_nobody_is_out_while_the_broker_does_not_answer(clock: Clock) -> None:
    """An outage is no reason to start anew: the time counts from its end."""
    group = Group()
    group.our_id = ""
    ours = Membership(lambda: group.our_id, group.find_members)
    clock.now += 100
    group.answers = False
    assert ours.seconds_out() == 0
    group.answers = True
    clock.now += 3
    assert ours.seconds_out() == 3


def test_whoever_has_a_partition_is_not_looked_for(clock: Clock) -> None:
    """The client itself notices when the group has gone on without it."""
    group = Group()
    group.our_id = None
    group.members = set()
    assert look(group, clock, before=1) == 0


def test_a_client_that_failed_is_not_asked_again() -> None:
    """The next question goes to a new one: the old one may have lost every broker."""
    made: list[str] = []

    def make(servers: str) -> AdminClient:
        made.append(servers)
        return cast("AdminClient", f"client {len(made)}")

    def fail(_client: AdminClient) -> Any:
        raise KafkaException

    admin = Admin("here:9092", make)
    assert [admin.ask(str), admin.ask(str)] == ["client 1", "client 1"]
    with pytest.raises(KafkaException):
        admin.ask(fail)
    assert (admin.ask(str), made) == ("client 2", ["here:9092", "here:9092"])


def test_an_answer_that_never_comes_is_an_error() -> None:
    """A client without any broker forgets the timeouts of its requests."""
    never: Future[str] = Future()
    with pytest.raises(KafkaException, match="Timed out"):
        wait_for(never, 0.01)
