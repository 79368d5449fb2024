"""The filter on a real broker: killed, frozen, rebalanced and fed with what is no number."""

import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from signal import SIGCONT, SIGKILL, SIGTERM

import pytest
import requests
from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from extras.filter.tests.data import NAMES, numbers
from ops.stack.stack import Stack
from ops.topic import read
from tests.client import Sent, ends, fresh, send, until
from tests.own_service import free_port

REAL = ("extras.filter",)
FAULTY = "extras.filter.tests.e2e.faulty"
UNTRANSACTED = "extras.filter.tests.e2e.untransacted"
PARTITIONS = 3
# Small batches, so that a fault is in the middle of the data.
BATCHES = {"FILTER_BATCH_RECORDS": "100", "FILTER_TRANSACTION_SECONDS": "5"}
IN_THE_MIDDLE = "10"
ONCE = Counter(range(1, 3501))


class Instance:
    """A process, with its log and its address."""

    def __init__(self, process: "subprocess.Popen[bytes]", log: Path, port: int) -> None:
        self.process = process
        self.file = log
        self.port = port
        self.url = f"http://127.0.0.1:{port}"

    def log(self) -> str:
        """Return what it has logged so far."""
        return self.file.read_text()

    def until_logged(self, text: str, seconds: float = 60) -> None:
        """Wait until it logs this."""
        until(self.log, lambda log: text in log, seconds, f"no {text}")

    def until_ended(self, seconds: float = 60) -> int:
        """Wait until it ends, and return its exit code."""
        return self.process.wait(seconds)

    def get(self, path: str, *, redirect: bool = True) -> requests.Response:
        """Return one of its pages."""
        return requests.get(f"{self.url}{path}", timeout=10, allow_redirects=redirect)


class World:
    """Topics of a test's own, and the instances that filter them."""

    def __init__(self, stack: Stack, processes: ExitStack) -> None:
        self.env = stack.env()
        self.logs = stack.settings.run_dir / "log"
        self.processes = processes
        self.input = fresh("numbered")
        self.output = f"{self.input}-filtered"
        self.letters = f"{self.input}-letters"
        self.settings = {
            "FILTER_GROUP_ID": self.input,
            "FILTER_INPUT_TOPIC": self.input,
            "FILTER_OUTPUT_TOPIC": self.output,
            "FILTER_MARK_TOPIC": f"{self.input}-mark",
            "FILTER_DEAD_LETTER_TOPIC": self.letters,
        }
        self.admin = AdminClient({"bootstrap.servers": self.env["KAFKA_BOOTSTRAP_SERVERS"]})
        topics = [name for key, name in self.settings.items() if key.endswith("_TOPIC")]
        make_topics(self.admin, topics)

    def start(self, *module: str, port: int = 0, **settings: str) -> Instance:
        """Start an instance; at the same port it is the same one again."""
        port = port or free_port()
        log = self.logs / f"{fresh('filter')}.log"
        output = self.processes.enter_context(log.open("wb"))
        process = subprocess.Popen(
            [sys.executable, "-m", *(module or REAL)],
            env={**self.env, **BATCHES, **self.settings, "FILTER_PORT": str(port), **settings},
            stdout=output,
            stderr=output,
        )
        self.processes.callback(end, process)
        return Instance(process, log, port)

    def send_numbers(self) -> None:
        """Send the whole data set."""
        send([Sent(None, key, str(number).encode()) for key, number in numbers()], self.input)

    def until_filtered(self, seconds: float = 90) -> None:
        """Wait until the group has committed everything."""
        until(
            lambda: (self.committed(), ends(self.input)),
            lambda seen: seen[0] == seen[1],
            seconds,
            "not everything is filtered",
        )

    def committed(self) -> dict[int, int]:
        """Return the group's offsets; a consumer would wait for a transaction that is open."""
        [answer] = self.admin.list_consumer_group_offsets(
            [ConsumerGroupTopicPartitions(self.input)]
        ).values()
        places = answer.result(30).topic_partitions or []
        return dict.fromkeys(range(PARTITIONS), 0) | {
            place.partition: place.offset for place in places
        }

    def passed(self) -> Counter[int]:
        """Return how often each number is on the output, for whoever reads what is committed."""
        found = read(self.env["KAFKA_BOOTSTRAP_SERVERS"], self.output)
        return Counter(int(message.value() or b"") for message in found)


def make_topics(admin: AdminClient, names: Iterable[str]) -> None:
    """Make topics, and wait until somebody answers for each of them."""
    topics = [NewTopic(name, PARTITIONS, 1) for name in names]
    for made in admin.create_topics(topics).values():
        made.result(30)


def end(process: "subprocess.Popen[bytes]") -> None:
    """Kill what is left, frozen or not."""
    process.send_signal(SIGCONT)
    process.kill()
    process.wait(10)


@pytest.fixture
def world(stack: Stack) -> Iterator[World]:
    """Have topics and instances that are gone afterwards."""
    with ExitStack() as processes:
        yield World(stack, processes)


def test_3500_of_4858_pass_each_once_and_each_key_in_its_sequence(world: World) -> None:
    """Nothing fails; SIGTERM ends it with 0."""
    instance = world.start()
    world.send_numbers()
    world.until_filtered()
    assert world.passed() == ONCE
    by_key: dict[bytes, list[int]] = {name.encode(): [] for name in NAMES}
    bootstrap = world.env["KAFKA_BOOTSTRAP_SERVERS"]
    for message in read(bootstrap, world.output):
        key = message.key() or b""
        number = int(message.value() or b"")
        by_key[key].append(number)
    assert all(found == sorted(found) for found in by_key.values())
    instance.process.send_signal(SIGTERM)
    assert instance.until_ended() == 0, instance.log()


def test_killed_before_the_commit_it_loses_and_doubles_nothing(world: World) -> None:
    """What it had sent is aborted as soon as it is back, and sent again."""
    world.send_numbers()
    killed = world.start(FAULTY, "kill", IN_THE_MIDDLE)
    assert killed.until_ended() == -SIGKILL, killed.log()
    world.start(port=killed.port)
    world.until_filtered()
    assert world.passed() == ONCE


def test_somebody_else_goes_on_once_the_transaction_of_the_killed_one_has_ended(
    world: World,
) -> None:
    """Another instance aborts nothing: it waits until the broker does, and reads marks then."""
    world.send_numbers()
    killed = world.start(FAULTY, "kill", IN_THE_MIDDLE)
    assert killed.until_ended() == -SIGKILL, killed.log()
    world.start()
    world.until_filtered()
    assert world.passed() == ONCE


@pytest.mark.parametrize(("kind", "expected"), [("doubles", "more"), ("loses", "fewer")])
def test_without_the_transaction_a_crash_doubles_or_loses(
    world: World, kind: str, expected: str
) -> None:
    """Control: records first and marks later, or the other way round."""
    world.send_numbers()
    killed = world.start(UNTRANSACTED, kind, IN_THE_MIDDLE)
    assert killed.until_ended() == -SIGKILL, killed.log()
    world.start(UNTRANSACTED, kind, "0", port=killed.port)
    world.until_filtered()
    total = world.passed().total()
    assert total > len(ONCE) if expected == "more" else total < len(ONCE)


def test_instances_that_come_and_go_lose_and_double_nothing(world: World) -> None:
    """A second one joins in the middle, and the first one leaves."""
    first = world.start(FILTER_BATCH_RECORDS="20")
    first.until_logged('"event": "assigned"')
    world.send_numbers()
    second = world.start(FILTER_BATCH_RECORDS="20")
    second.until_logged('"event": "assigned"')
    first.process.send_signal(SIGTERM)
    assert first.until_ended() == 0, first.log()
    world.until_filtered()
    assert world.passed() == ONCE


def test_a_zombie_is_fenced(world: World) -> None:
    """Frozen before its commit, and started again elsewhere: what it had begun is aborted."""
    same = "http://filter-1"
    world.send_numbers()
    zombie = world.start(
        FAULTY, "freeze", IN_THE_MIDDLE, FILTER_TRANSACTION_SECONDS="60", FILTER_URL=same
    )
    until_frozen(zombie)
    world.start(FILTER_URL=same)
    world.until_filtered()
    wake(zombie)
    assert world.passed() == ONCE


def test_a_zombie_whose_transaction_has_timed_out_is_fenced(world: World) -> None:
    """Frozen before its commit until another instance has its partitions and has gone on."""
    world.send_numbers()
    zombie = world.start(FAULTY, "freeze", IN_THE_MIDDLE)
    until_frozen(zombie)
    world.start()
    world.until_filtered()
    wake(zombie)
    assert world.passed() == ONCE


def until_frozen(zombie: Instance) -> None:
    """Wait until it has stopped itself."""
    until(
        lambda: Path(f"/proc/{zombie.process.pid}/stat").read_text().split()[2],
        lambda state: state == "T",
        60,
        "it was not frozen",
    )


def wake(zombie: Instance) -> None:
    """Let it try to commit: it ends with one sentence."""
    zombie.process.send_signal(SIGCONT)
    assert zombie.until_ended() == 2, zombie.log()
    assert "Nothing is lost: start again" in zombie.log()


def test_what_is_no_number_is_a_dead_letter_and_stops_nobody(world: World) -> None:
    """It keeps key, bytes and headers, and says why and where it was."""
    sent = [
        Sent(None, "k", b"1"),
        Sent(None, "k", b"\xffone", [("trace", b"t-1")]),
        Sent(None, "k", b"2"),
    ]
    places = send(sent, world.input)
    world.start()
    world.until_filtered()
    [letter] = read(world.env["KAFKA_BOOTSTRAP_SERVERS"], world.letters)
    headers = dict(letter.headers() or [])
    assert (letter.key(), letter.value()) == (b"k", b"\xffone")
    assert headers["trace"] == b"t-1"
    assert headers["reason"] == b"value: should be 1 to 18 digits, not '\\\\xffone'"
    partition, offset = places[1]
    assert (headers["partition"], headers["offset"]) == (
        str(partition).encode(),
        str(offset).encode(),
    )
    assert world.passed() == Counter([1, 2])


def test_a_mark_can_be_read_at_every_instance(world: World) -> None:
    """Its owner answers, and the others say who that is."""
    instances = [world.start(), world.start()]
    for instance in instances:
        instance.until_logged('"event": "assigned"')
    world.send_numbers()
    world.until_filtered()
    highest: dict[int, int] = {}
    for message in read(world.env["KAFKA_BOOTSTRAP_SERVERS"], world.input):
        partition, number = message.partition() or 0, int(message.value() or b"")
        highest[partition] = max(number, highest.get(partition, 0))
    for partition, number in highest.items():
        answers = [until_settled(instance, partition) for instance in instances]
        assert [answer.json()["number"] for answer in answers] == [number, number]
        asked_elsewhere = [len(answer.history) for answer in answers]
        assert sorted(asked_elsewhere) == [0, 1]
    assert instances[0].get("/marks/99").status_code == 404
    assert instances[0].get("/readyz").text == "ok\n"


def until_settled(instance: Instance, partition: int) -> requests.Response:
    """Return the answer once the group has settled."""
    return until(
        lambda: instance.get(f"/marks/{partition}"),
        lambda answer: answer.status_code == 200,
        60,
        f"no mark of {partition}",
    )


@pytest.mark.parametrize("seconds", ["3", "999"], ids=["watched", "control: much later"])
def test_a_client_that_the_group_has_lost_is_replaced(world: World, seconds: str) -> None:
    """It would poll for ever, without a partition and without an error; a new process goes on."""
    world.send_numbers()
    instance = world.start("extras.filter.tests.e2e.astray", REJOIN_SECONDS=seconds)
    instance.until_logged('"event": "revoked"')
    if seconds == "3":
        world.until_filtered()
        assert '"event": "out_of_group"' in instance.log()
        assert world.passed() == ONCE
        return
    with pytest.raises(AssertionError, match="not everything is filtered"):
        world.until_filtered(8)


def test_a_topic_that_is_missing_is_named(world: World) -> None:
    """Before anything is read: one sentence, exit 2."""
    instance = world.start(FILTER_MARK_TOPIC="nowhere")
    assert instance.until_ended() == 2
    assert "FILTER_MARK_TOPIC=nowhere: there is no such topic" in instance.log()
