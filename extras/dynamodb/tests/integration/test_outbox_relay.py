"""The relay on a real stream: crashes, lost leases, shards that close, records that are gone."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from extras.dynamodb.outbox.event import BURIED, Event
from extras.dynamodb.outbox.leases import FencedError, Leases
from extras.dynamodb.outbox.relay import (
    LONGEST_AWAY_SECONDS,
    Relay,
    Steps,
    refuse_gap,
    send_all,
    wire,
)
from extras.dynamodb.outbox.shards import LostRecordsError
from extras.dynamodb.outbox.stream import Stream, find_stream
from extras.dynamodb.outbox.transaction import Writer
from extras.dynamodb.tests.controlled import Controlled
from extras.dynamodb.tests.tallies import Tables, message_ids, order
from service.outage import OutageError
from tests.builders import record

PAGE = 4  # records: so that a few orders are several pages


class CrashError(Exception):
    """A relay has died."""


class Broker:
    """A producer whose acknowledgements are a list."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def publish(self, events: Sequence[Event]) -> None:
        """Take events."""
        self.events += events


class World:
    """An outbox, a broker, and relays whose time a test lets pass."""

    def __init__(self, tables: Tables, dynamodb: Controlled) -> None:
        self.tables = tables
        self.dynamodb = dynamodb
        self.broker = Broker()
        self.now = 0.0
        self.today = 1e9

    def write(self, *numbers: int) -> None:
        """Handle an order for each number."""
        worker = Writer(self.tables.clients.tables, self.tables.settings)
        for number in numbers:
            assert worker.write(order(f"m-{number}")) == "tallied"

    def relay(self, change: Callable[[Steps], Steps] = lambda steps: steps) -> Relay:
        """Return a relay that has just started."""
        settings = self.tables.settings
        clients = self.tables.clients
        stream = Stream(clients.streams, find_stream(clients, settings), PAGE)
        leases = Leases(
            clients.tables, settings, elapsed=lambda: self.now, clock=lambda: self.today
        )
        publisher: Any = self.broker
        return Relay(stream, leases, change(wire(stream, leases, publisher)))

    def leases(self) -> Leases:
        """Return the shard table."""
        return self.relay().leases

    def sent(self) -> Counter[str]:
        """Return how often the broker was sent the event of each message."""
        return Counter(message_ids(self.broker.events))

    def pass_lease(self) -> None:
        """Let time go by, as long as a lease."""
        self.now += self.tables.settings.relay_lease_seconds


@pytest.fixture
def world(tables: Tables, dynamodb: Controlled) -> World:
    """Have an outbox of this test's own."""
    return World(tables, dynamodb)


def turns(relay: Relay, count: int = 4) -> None:
    """Take some turns: more than the tests' shards need."""
    for _ in range(count):
        relay.turn()


def named(*numbers: int) -> list[str]:
    """Return the message ids of these numbers."""
    return [f"m-{number}" for number in numbers]


def test_every_event_is_sent_once_in_its_sequence(world: World) -> None:
    """Nothing fails: each event once, as the stream has them; later ones follow."""
    relay = world.relay()
    world.write(*range(10))
    turns(relay)
    world.write(10)
    turns(relay)
    assert message_ids(world.broker.events) == named(*range(11))


def test_what_is_sent_is_the_outbox_item_with_derived_ids(world: World) -> None:
    """Topic, key, value and headers follow from the message alone."""
    world.write(1)
    turns(world.relay())
    [event] = world.broker.events
    assert [event] == world.tables.outbox()
    headers = dict(event.headers())
    assert headers["id"] == headers["message_id"] == event.event_id.encode()
    assert json.loads(event.value) == {
        "message_id": "m-1",
        "order_id": "o-m-1",
        "customer_id": "c-1",
        "total": "47.70",
    }


def test_a_dead_letter_is_sent_too(world: World) -> None:
    """It leaves through the same outbox, to a topic of its own."""
    broken = record("m-1", b"{")
    Writer(world.tables.clients.tables, world.tables.settings).write(broken)
    turns(world.relay())
    [event] = world.broker.events
    assert (event.event_type, event.topic) == (
        BURIED,
        world.tables.settings.tally_dead_letter_topic,
    )


def test_what_expires_is_not_sent(world: World) -> None:
    """DynamoDB's deletions are in the stream, and no events."""
    world.write(1)
    [event] = world.tables.outbox()
    key = {"aggregate_id": event.aggregate_id, "event_id": event.event_id}
    name = world.tables.settings.tally_outbox_table
    world.tables.clients.tables.delete_item(TableName=name, Key=key)
    turns(world.relay())
    assert world.sent() == Counter(named(1))


STEPS = ("know", "list_shards", "take", "read", "publish", "advance", "note_turn")


def crashing(step: str, *, behind: bool) -> Callable[[Steps], Steps]:
    """Return a change with which a relay dies, the second time, before a step or behind it."""

    def change(steps: Steps) -> Steps:
        calls = Counter[str]()

        def die(*given: Any) -> Any:
            calls[step] += 1
            is_time = calls[step] == 2
            if is_time and not behind:
                raise CrashError
            answer = getattr(steps, step)(*given)
            if is_time:
                raise CrashError
            return answer

        dying: dict[str, Any] = {step: die}
        return steps._replace(**dying)

    return change


@pytest.mark.parametrize("behind", [False, True])
@pytest.mark.parametrize("step", STEPS)
def test_a_relay_that_dies_anywhere_loses_no_event(world: World, step: str, behind: bool) -> None:
    """Another one goes on after the lease: every event at least once, and once by its id."""
    world.write(*range(10))
    relay = world.relay(crashing(step, behind=behind))
    with pytest.raises(CrashError):
        turns(relay, 6)
    other = world.relay()
    turns(other)
    world.pass_lease()
    turns(other)
    assert world.sent().keys() == set(named(*range(10)))
    by_id = {event.event_id: event for event in world.broker.events}
    assert all(by_id[event.event_id] == event for event in world.broker.events)
    assert len(by_id) == 10


def test_an_event_that_the_broker_does_not_take_is_sent_in_the_next_turn(world: World) -> None:
    """The checkpoint stays where it was."""
    failures = iter([OutageError("Kafka: away")])

    def fail_once(steps: Steps) -> Steps:
        def publish(events: Sequence[Event]) -> None:
            for failure in failures:
                raise failure
            steps.publish(events)

        return steps._replace(publish=publish)

    relay = world.relay(fail_once)
    world.write(*range(6))
    relay.turn()  # begins
    with pytest.raises(OutageError):
        relay.turn()
    assert world.sent() == Counter()
    turns(relay)
    assert world.sent() == Counter(named(*range(6)))


def test_control_a_checkpoint_before_the_broker_has_it_loses(world: World) -> None:
    """Noted first and sent then: a crash in between loses a page."""

    def note_first(steps: Steps) -> Steps:
        def read(lease: Any) -> Any:
            page = steps.read(lease)
            steps.advance(lease, page)
            raise CrashError

        return steps._replace(read=read)

    world.write(*range(6))
    relay = world.relay(note_first)
    relay.turn()
    with pytest.raises(CrashError):
        relay.turn()
    other = world.relay()
    turns(other)
    world.pass_lease()
    turns(other)
    assert world.sent() == Counter(named(4, 5))


# Two relays.


def test_a_second_relay_waits_as_long_as_the_first_one_works(world: World) -> None:
    """A lease that is renewed never ends, however long the other one looks."""
    first, second = world.relay(), world.relay()
    for number in range(5):
        world.write(number)
        turns(first, 2)
        world.now += 0.9 * world.tables.settings.relay_lease_seconds
        second.turn()
    assert world.sent() == Counter(named(*range(5)))


def test_a_relay_that_loses_its_lease_in_a_page_is_fenced(world: World) -> None:
    """The second takes over and goes on; the first, which wakes up then, notes nothing."""
    second = world.relay()

    def overtaken(steps: Steps) -> Steps:
        def publish(events: Sequence[Event]) -> None:
            turns(second)
            world.pass_lease()
            turns(second)
            steps.publish(events)

        return steps._replace(publish=publish)

    world.write(*range(6))
    first = world.relay(overtaken)
    first.turn()
    first.turn()
    assert world.sent() == Counter(named(*range(6), *range(PAGE)))  # its page came twice
    [lease] = second.leases.read().leases.values()
    assert lease.owner == second.leases.owner
    world.write(6)
    turns(second)
    assert world.sent()["m-6"] == 1


def test_a_relay_with_an_old_token_cannot_move_a_checkpoint(world: World) -> None:
    """Neither back nor further: the token that it has seen is not there any more."""
    world.write(*range(6))
    first, second = world.relay(), world.relay()
    turns(first)
    [shard_id] = first.leases.read().leases
    old = first.leases.take(shard_id, first.leases.read())
    assert old
    second.turn()
    world.pass_lease()
    second.turn()
    with pytest.raises(FencedError):
        first.leases.advance(old, "further", is_done=False)


def test_two_that_begin_at_once_begin_once(world: World) -> None:
    """Of two relays that both find nothing, one has the shard."""
    world.write(*range(3))
    relays = [world.relay(), world.relay()]
    for relay in relays:
        relay.begin(relay.steps.list_shards())
    for relay in relays:
        relay.turn()
    assert world.sent() == Counter(named(*range(3)))


# Shards that close.


def test_a_closed_shard_is_done_before_its_child_begins(world: World) -> None:
    """Three generations: every event once, in the sequence in which they were written."""
    relay = world.relay()
    for first in (0, 10, 20):
        world.write(*range(first, first + 10))
        world.dynamodb.roll_over()
    turns(relay, 8)
    assert message_ids(world.broker.events) == named(*range(30))
    leases = world.leases().read().leases
    are_done = [lease.is_done for lease in leases.values()]
    assert sorted(are_done) == [False, True, True, True]


def test_a_shard_that_closes_while_it_is_read_is_read_to_its_end(world: World) -> None:
    """What came before it closed, what came after, and nothing twice."""
    relay = world.relay()
    world.write(*range(3))
    turns(relay)
    world.write(*range(3, 6))
    world.dynamodb.roll_over()
    world.write(*range(6, 9))
    turns(relay)
    assert message_ids(world.broker.events) == named(*range(9))


def test_a_child_waits_for_a_parent_that_another_relay_has(world: World) -> None:
    """The second relay does not pass the first, which is in the middle of the parent."""
    passed = Broker()
    second = world.relay(lambda steps: steps._replace(publish=passed.publish))

    def watched(steps: Steps) -> Steps:
        def publish(events: Sequence[Event]) -> None:
            turns(second)
            steps.publish(events)

        return steps._replace(publish=publish)

    world.write(1)
    world.dynamodb.roll_over()
    world.write(2)
    first = world.relay(watched)
    first.turn()
    first.turn()
    assert (message_ids(world.broker.events), passed.events) == (named(1), [])
    turns(second)
    assert message_ids(passed.events) == named(2)


def test_a_killed_relay_s_closed_shard_is_finished_before_its_child(world: World) -> None:
    """It died in the parent; whoever takes over reads that to its end, and then the child."""
    world.write(*range(6))
    relay = world.relay(crashing("advance", behind=False))
    with pytest.raises(CrashError):
        turns(relay)
    world.dynamodb.roll_over()
    world.write(6)
    other = world.relay()
    turns(other)
    world.pass_lease()
    turns(other)
    assert list(dict.fromkeys(message_ids(world.broker.events))) == named(*range(7))


# Records that are gone, and the way back.


def recover(world: World) -> None:
    """Send everything again, as `relay --scan` does."""
    publisher: Any = world.broker
    send_all(world.tables.clients, world.tables.settings, publisher, world.leases())


def test_records_that_are_gone_stop_the_relay_and_a_scan_sends_them(world: World) -> None:
    """A day without a relay: it stops, the table still has all, and then it goes on."""
    relay = world.relay()
    world.write(1)
    turns(relay)
    world.write(2)
    world.dynamodb.roll_over()
    world.dynamodb.pass_hours(25)
    with pytest.raises(LostRecordsError, match="gone"):
        turns(relay)
    assert world.sent() == Counter(named(1))
    recover(world)
    assert world.sent() == Counter(named(1, 1, 2))
    world.write(3)
    turns(world.relay())
    assert world.sent()["m-3"] == 1
    assert len({event.event_id for event in world.broker.events}) == 3


def test_what_is_gone_before_the_first_relay_is_no_loss(world: World) -> None:
    """It begins with what is there; nobody has promised anything before."""
    world.write(1)
    world.dynamodb.pass_hours(25)
    world.write(2)
    turns(world.relay())
    assert world.sent() == Counter(named(2))


def test_a_first_record_that_comes_while_a_relay_begins_is_sent(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes behind the look at an empty shard: that shard is not taken for gone."""
    relay = world.relay()
    client = relay.stream.client
    find_iterator = client.get_shard_iterator
    arriving = iter([1])

    def find_and_write(**asked: Any) -> Any:
        found = find_iterator(**asked)
        world.write(*arriving)
        return found

    monkeypatch.setattr(client, "get_shard_iterator", find_and_write)
    turns(relay)
    assert world.sent() == Counter(named(1))


def test_a_relay_that_was_away_for_most_of_a_day_stops(world: World) -> None:
    """A shard that nobody has begun has no checkpoint that could be missing: time tells."""
    turns(world.relay())
    world.today += LONGEST_AWAY_SECONDS + 3600
    with pytest.raises(LostRecordsError, match="for 21 hours"):
        world.relay().turn()


def test_a_relay_that_works_is_not_away(world: World) -> None:
    """Its turns are noted: days later it is there."""
    relay = world.relay()
    for _ in range(5):
        turns(relay)
        world.today += LONGEST_AWAY_SECONDS - 1
    turns(relay)
    world.write(1)
    turns(relay)
    assert world.sent() == Counter(named(1))


def test_another_stream_stops_the_relay(world: World) -> None:
    """A table that was made again has a stream of its own: what came between is in neither."""
    turns(world.relay())
    clients, settings = world.tables.clients, world.tables.settings
    clients.tables.delete_table(TableName=settings.tally_outbox_table)
    world.tables.make()
    world.write(1)
    with pytest.raises(LostRecordsError, match="another stream"):
        turns(world.relay())
    recover(world)
    turns(world.relay())
    assert world.sent().keys() == set(named(1))


def test_a_scan_fences_a_relay_that_is_in_the_middle_of_a_page(world: World) -> None:
    """Everything is forgotten: what it notes then is refused, and it begins anew."""

    def scanned(steps: Steps) -> Steps:
        scans = iter([True])

        def publish(events: Sequence[Event]) -> None:
            steps.publish(events)
            for _ in scans:
                recover(world)

        return steps._replace(publish=publish)

    world.write(1)
    relay = world.relay(scanned)
    turns(relay)
    known = world.leases().read()
    assert known.stream == relay.stream.stream
    world.write(2)
    turns(relay)
    assert world.sent() == Counter(named(1, 1, 1, 2))
    refuse_gap(known, relay.stream.stream)
