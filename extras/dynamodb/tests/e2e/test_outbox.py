"""Service and relay on DynamoDB Local and a real broker: killed, frozen, in company."""

import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from operator import le
from pathlib import Path
from signal import SIGCONT, SIGKILL, SIGTERM

import pytest

from extras.dynamodb.tests.controlled import Controlled, controlled
from extras.dynamodb.tests.tallies import PRICE, Tables, Tally
from ops.stack.stack import Stack
from tests.builders import value
from tests.client import Sent, events, send, until, until_handled
from tests.own_service import free_port, make_topic

PATIENCE = 180  # seconds: a machine may have much else to do
ORDERS = 120
CUSTOMERS = 7
SERVICE = ("extras.dynamodb.outbox",)
RELAY = ("extras.dynamodb.outbox.relay",)
CRASHING = "extras.dynamodb.tests.e2e.crash_outbox"
# Small batches and pages, so that a fault is in the middle of the data.
SMALL = {"BATCH_RECORDS": "20", "RELAY_RECORDS": "15", "RELAY_LEASE_SECONDS": "2"}


class Instance:
    """A process, with its log."""

    def __init__(self, process: "subprocess.Popen[bytes]", log: Path) -> None:
        self.process = process
        self.file = log

    def log(self) -> str:
        """Return what it has logged so far."""
        return self.file.read_text()

    def until_logged(self, text: str, seconds: float = PATIENCE) -> None:
        """Wait until it logs this."""
        until(self.log, lambda log: text in log, seconds, f"no {text}")

    def until_ended(self, seconds: float = PATIENCE) -> int:
        """Wait until it ends, and return its exit code."""
        return self.process.wait(seconds)

    def sentence(self) -> str:
        """Wait until it ends with exit code 2, and return its last words."""
        assert self.until_ended() == 2, self.log()
        return self.log().splitlines()[-1]


class World:
    """Topics and tables of a test's own, and the processes that use them."""

    def __init__(self, stack: Stack, dynamodb: Controlled, processes: ExitStack) -> None:
        self.stack = stack
        self.dynamodb = dynamodb
        self.processes = processes
        self.topic = make_topic()
        self.output = make_topic(name=f"{self.topic}-tally")
        self.letters = make_topic(name=f"{self.topic}-letters")
        self.tables = Tables(dynamodb.url)
        self.settings = {
            "INPUT_TOPIC": self.topic,
            "TALLY_GROUP_ID": self.topic,
            "TALLY_TOPIC": self.output,
            "TALLY_DEAD_LETTER_TOPIC": self.letters,
            **self.tables.environment,
        }
        named = {"tally_topic": self.output, "tally_dead_letter_topic": self.letters}
        self.tables.settings = self.tables.settings.model_copy(update=named)

    def start(self, *command: str, **settings: str) -> Instance:
        """Start a service, a relay, or one that dies."""
        number = free_port()
        log = self.stack.settings.run_dir / "log" / f"{self.topic}-{number}.log"
        output = self.processes.enter_context(log.open("wb"))
        ports = {"TALLY_PORT": str(number), "RELAY_PORT": str(free_port())}
        process = subprocess.Popen(
            [sys.executable, "-m", *command],
            env={**os.environ, **self.stack.env(), **SMALL, **self.settings, **ports, **settings},
            stdout=output,
            stderr=output,
        )
        self.processes.callback(end, process)
        return Instance(process, log)

    def send_orders(self) -> list[str]:
        """Send every order once, and a third of them once more; return the message ids."""
        ids = [f"m-{number}" for number in range(ORDERS)]
        sent = [
            Sent(message_id, f"o-{message_id}", order(number))
            for number, message_id in enumerate(ids)
        ]
        send([*sent, *sent[::3]], self.topic)
        return ids

    def until_handled(self) -> None:
        """Wait until the service has committed everything."""
        until_handled(90, self.topic, self.topic)

    def published(self) -> dict[str, set[str]]:
        """Return the different events that are on the topic, by the message that each is about."""
        found: dict[str, set[str]] = defaultdict(set)
        for event in events(self.output, lambda _: True):
            found[json.loads(event.value)["message_id"]].add(repr(event))
        return dict(found)

    def until_published(self, ids: list[str]) -> None:
        """Wait until each message has an event, and look whether it has one alone."""
        found = until(
            self.published, lambda now: now.keys() == set(ids), 90, "not every event is there"
        )
        assert Counter(len(different) for different in found.values()) == {1: len(ids)}

    def look_at_tallies(self) -> None:
        """Look whether every order was added once."""
        for customer in range(CUSTOMERS):
            count = len(range(customer, ORDERS, CUSTOMERS))
            assert self.tables.tally(f"c-{customer}") == Tally(count, count * PRICE, {})


def order(number: int) -> bytes:
    """Return an order with this number."""
    return value(f"o-{number}", customer_id=f"c-{number % CUSTOMERS}")


def end(process: "subprocess.Popen[bytes]") -> None:
    """Kill what is left, frozen or not."""
    process.send_signal(SIGCONT)
    process.kill()
    process.wait(10)


@pytest.fixture(scope="module")
def dynamodb() -> Iterator[Controlled]:
    """Have DynamoDB Local for the tests of this file."""
    with controlled() as found:
        yield found


@pytest.fixture
def world(stack: Stack, dynamodb: Controlled) -> Iterator[World]:
    """Have topics, tables and processes that are gone afterwards."""
    with ExitStack() as processes:
        yield World(stack, dynamodb, processes)


def test_every_order_is_added_once_and_has_an_event(world: World) -> None:
    """Nothing fails: a repeat changes nothing, SIGTERM ends both with 0."""
    service, relay = world.start(*SERVICE), world.start(*RELAY)
    ids = world.send_orders()
    world.until_handled()
    world.until_published(ids)
    world.look_at_tallies()
    for instance in (service, relay):
        instance.process.send_signal(SIGTERM)
        assert instance.until_ended() == 0, instance.log()


@pytest.mark.parametrize(
    ("step", "when", "time"),
    [
        ("confirm", "before", "2"),
        ("write", "before", "30"),
        ("write", "behind", "30"),
        ("commit", "before", "2"),
        ("commit", "behind", "2"),
    ],
)
def test_a_service_killed_anywhere_loses_and_doubles_nothing(
    world: World, step: str, when: str, time: str
) -> None:
    """Before and behind the transaction and the offsets; another one goes on."""
    ids = world.send_orders()
    killed = world.start(CRASHING, "service", step, when, time)
    assert killed.until_ended() == -SIGKILL, killed.log()
    world.start(*SERVICE)
    world.start(*RELAY)
    world.until_handled()
    world.until_published(ids)
    world.look_at_tallies()


@pytest.mark.parametrize(
    ("step", "when"),
    [
        ("take", "behind"),
        ("read", "behind"),
        ("publish", "behind"),
        ("advance", "behind"),
    ],
)
def test_a_relay_killed_anywhere_loses_no_event(world: World, step: str, when: str) -> None:
    """Another one waits for its lease: each event at least once, and once by its id and bytes."""
    ids = world.send_orders()
    world.start(*SERVICE)
    world.until_handled()
    killed = world.start(CRASHING, "relay", step, when, "2")
    assert killed.until_ended() == -SIGKILL, killed.log()
    world.start(*RELAY)
    world.until_published(ids)


def test_two_services_share_the_orders_and_one_is_killed(world: World) -> None:
    """In one group, on the same tallies: one effect and one event for each order."""
    world.start(*RELAY)
    killed = world.start(CRASHING, "service", "write", "behind", "10")
    other = world.start(*SERVICE)
    for instance in (killed, other):
        until(
            instance.log,
            lambda log: '"partitions": [' in log.replace('"partitions": []', ""),
            PATIENCE,
            "an instance has no partition",
        )
    ids = world.send_orders()
    assert killed.until_ended() == -SIGKILL, killed.log()
    world.until_handled()
    world.until_published(ids)
    world.look_at_tallies()


def test_a_frozen_relay_is_fenced_when_it_wakes(world: World) -> None:
    """Another one has its shard by then: what it had sent comes twice, and its note is refused."""
    ids = world.send_orders()
    world.start(*SERVICE)
    world.until_handled()
    frozen = world.start(CRASHING, "relay", "advance", "freeze", "2")
    until(
        lambda: Path(f"/proc/{frozen.process.pid}/stat").read_text().split()[2],
        lambda state: state == "T",
        PATIENCE,
        "it was not frozen",
    )
    world.start(*RELAY)
    world.until_published(ids)
    frozen.process.send_signal(SIGCONT)
    frozen.until_logged('"event": "fenced"')
    world.until_published(ids)


def test_shards_that_close_under_load_cost_no_event(world: World) -> None:
    """Three times while orders come: the relay reads each to its end, and goes on in its child."""
    world.start(*RELAY)
    ids = world.send_orders()
    world.start(*SERVICE)
    for least in (20, 50, 80):
        until(
            lambda: len(world.tables.messages()),
            partial(le, least),
            PATIENCE,
            "the service is too slow",
        )
        world.dynamodb.roll_over()
    world.until_handled()
    world.until_published(ids)


def test_what_is_gone_from_the_stream_is_sent_by_a_scan(world: World) -> None:
    """A day without a relay: it ends with a sentence, which names the way out; that way works."""
    relay = world.start(*RELAY)
    relay.until_logged('"event": "begun"')
    relay.process.kill()
    ids = world.send_orders()
    service = world.start(*SERVICE)
    world.until_handled()
    service.process.send_signal(SIGTERM)
    world.dynamodb.roll_over()
    world.dynamodb.pass_hours(25)
    sentence = world.start(*RELAY).sentence()
    assert "is gone" in sentence
    assert "relay --scan" in sentence
    scan = world.start(*RELAY, "--scan")
    assert scan.until_ended() == 0, scan.log()
    assert f"{ORDERS} events sent again" in scan.log()
    world.until_published(ids)
    world.start(*RELAY).until_logged('"event": "begun"')


def test_a_broken_record_becomes_a_dead_letter_on_its_topic(world: World) -> None:
    """It keeps its bytes, and stops nobody."""
    good = Sent("m-0", "o-0", order(0))
    other = Sent("m-0", "o-0", order(1))
    send([Sent("m-1", "o-1", b"{"), good, other], world.topic)
    world.start(*SERVICE)
    world.start(*RELAY)
    world.until_published(["m-0"])
    letters = until(
        lambda: events(world.letters, lambda _: True),
        lambda found: len(found) == 2,
        PATIENCE,
        "two dead letters",
    )
    kinds = {json.loads(letter.value)["kind"] for letter in letters}
    assert kinds == {"invalid", "conflict"}


@pytest.mark.parametrize(
    ("command", "setting"),
    [
        (SERVICE, "INPUT_TOPIC"),
        (RELAY, "TALLY_TOPIC"),
        (SERVICE, "TALLY_CLAIM_TABLE"),
        (RELAY, "TALLY_OUTBOX_TABLE"),
    ],
)
def test_what_is_missing_is_named(world: World, command: tuple[str, ...], setting: str) -> None:
    """Before the first record: one sentence with the setting and the way out, exit 2."""
    sentence = world.start(*command, **{setting: "nowhere"}).sentence()
    assert sentence.startswith(f"{setting}=nowhere: there is no such t")
    assert "python -m" in sentence
