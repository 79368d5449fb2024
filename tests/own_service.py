"""A service of a test's own, on a topic and in a group that nobody else knows."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from random import SystemRandom
from signal import Signals

import requests
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from ops.stack.stack import Stack
from service.consumer import RecordConsumer
from tests.client import fresh, has_leaders, until, until_handled

MODULE = ("service",)
# Below those that systems give to clients: one of these might be a connection's own by the time it
# is needed. Not from a seed, which another process may have too.
PORTS_OF_SERVERS = range(20_000, 32_000)
DICE = SystemRandom()
CREATE_SECONDS = 5


def make_topic(partitions: int = 3, name: str = "") -> str:
    """Make a topic, and wait until each of its partitions has a leader."""
    topic = name or fresh("topic")
    until(lambda: create(topic, partitions), bool, 30, f"{topic} is not there")
    until(lambda: has_leaders(topic, partitions), bool, 30, f"{topic} has no leaders")
    return topic


def create(topic: str, partitions: int) -> bool:
    """Create a topic, and return whether it is there.

    A broker that was frozen says for a moment that there is no controller. A client that hears that
    asks nobody else: so each attempt has a client of its own.
    """
    admin = AdminClient({"bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"]})
    asked = admin.create_topics([NewTopic(topic, partitions, 1)])[topic]
    try:
        asked.result(CREATE_SECONDS)
    except TimeoutError:
        return False
    except KafkaException as failure:
        if failure.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise
    return True


def make_again(topic: str, partitions: int = 3) -> None:
    """Delete a topic, and create it again."""
    admin = AdminClient({"bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"]})
    admin.delete_topics([topic])[topic].result(30)
    until(
        lambda: topic in admin.list_topics(timeout=10).topics,
        lambda is_there: not is_there,
        30,
        f"{topic} is still there",
    )
    make_topic(partitions, topic)


class OwnService:
    """A process with what it has logged."""

    def __init__(self, process: "subprocess.Popen[bytes]", log: Path, url: str) -> None:
        self.process = process
        self.file = log
        self.url = url

    def log(self) -> str:
        """Return what it has logged so far."""
        return self.file.read_text()

    def until_logged(self, text: str, seconds: float = 30, count: int = 1) -> None:
        """Wait until it logs this, so many times."""
        until(self.log, lambda log: log.count(text) >= count, seconds, f"no {text}")

    def until_ended(self, seconds: float = 30) -> int:
        """Wait until it ends, and return its exit code."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it runs after {seconds} s:\n{self.log()}") from None

    def sentence(self, seconds: float = 30) -> str:
        """Wait until it ends with exit code 2, and return the one sentence that it ends with.

        Its log lines, and those of the Kafka client, are something else.
        """
        code = self.until_ended(seconds)
        ours = [line for line in self.log().splitlines() if line[:1] not in ("{", "%")]
        assert (code, len(ours)) == (2, 1), self.log()
        return ours[0]

    def stop(self) -> int:
        """Ask it to stop, and return its exit code."""
        self.process.send_signal(Signals.SIGTERM)
        return self.until_ended()

    def get(self, path: str) -> tuple[int, str]:
        """Return status and text of one of its pages."""
        answer = requests.get(f"{self.url}{path}", timeout=10)
        return answer.status_code, answer.text

    def metric(self, line: str) -> float | None:
        """Return the value of one metric, named with its labels; None if it is not there."""
        _, text = self.get("/metrics")
        for found in text.splitlines():
            name, _, value = found.rpartition(" ")
            if name == line:
                return float(value)
        return None


@contextmanager
def own_service(
    stack: Stack, topic: str, module: Sequence[str] = MODULE, **settings: str
) -> Iterator[OwnService]:
    """Run a service on this topic, as the default subscriber in a group with the topic's name."""
    port = free_port()
    own = {"INPUT_TOPIC": topic, "GROUP_ID": topic, "SERVICE_PORT": str(port)}
    log = stack.settings.run_dir / "log" / f"{fresh('own-service')}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", *module],
            env=stack.env() | own | settings,
            stdout=output,
            stderr=output,
        )
    try:
        yield OwnService(process, log, f"http://127.0.0.1:{port}")
    finally:
        process.kill()
        process.wait(10)


@contextmanager
def leaving(member: RecordConsumer) -> Iterator[None]:
    """Leave the group after the block, as a service does: to close the client is not enough."""
    try:
        yield
    finally:
        member.leave()


def handle_all(stack: Stack, topic: str) -> None:
    """Let a service handle what is on the topic."""
    with own_service(stack, topic) as service:
        service.until_logged('"event": "assigned"')
        until_handled(30, topic, topic)
        service.stop()


def run_offsets(stack: Stack, topic: str, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run `python -m service.offsets` for the topic's group."""
    env = stack.env() | {"INPUT_TOPIC": topic, "GROUP_ID": topic}
    command = [sys.executable, "-m", "service.offsets", *words]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)


def free_port() -> int:
    """Return a port that nobody listens on."""
    while True:
        port = DICE.choice(PORTS_OF_SERVERS)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
