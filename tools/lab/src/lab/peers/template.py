"""The template as an arm: its own service and its own Debezium."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from contract.names import INPUT_TOPIC
from contract.samples import Sample
from lab.environment import empty_tables
from lab.peers.live import Live
from lab.peers.place import read_number
from lab.peers.relay import Relay
from ops.produce import connect, try_to_send
from ops.stack.stack import Stack

FLUSH_SECONDS = 10
WRITTEN = "select count(*) from tracking"


@contextmanager
def run_template(
    settings: Mapping[str, str],
    stack: Stack,
    _python: Path,
    _number: int,
) -> Iterator[Live]:
    """Run Debezium, and the service with these settings, on empty tables."""
    env = stack.env()
    empty_tables(env)
    start = partial(stack.start, "connect")
    producer = connect(env["KAFKA_BOOTSTRAP_SERVERS"])

    def send(order: Sample) -> None:
        while not try_to_send(producer, INPUT_TOPIC, order, lambda *_: None):
            producer.poll(0.1)
        producer.poll(0)

    try:
        start()
        stack.start("service", env=dict(settings))
        yield Live(
            env=env,
            send=send,
            relay=Relay("connect", start, start),
            written=partial(read_number, env, WRITTEN),
            waiting=lambda: 0,
            has_noted=lambda: True,  # every second
        )
    finally:
        producer.flush(FLUSH_SECONDS)
        stack.stop("service")
        stack.stop("connect")
