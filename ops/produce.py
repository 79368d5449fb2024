"""Sends orders, and keeps a ledger of exactly those records that the broker has acknowledged."""

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from contract.samples import Sample

TOPIC = "order.events"
PATIENCE_SECONDS = 30  # for one record; librdkafka's own five minutes look like a hanging command


class ProduceError(Exception):
    """Why not everything was acknowledged."""


def new_run() -> str:
    """A prefix for the ids of one run: they sort by time, and no other run has them."""
    return f"r{datetime.now(UTC):%Y%m%d-%H%M%S-%f}"[:-3]


def produce(env: Mapping[str, str], run: str, records: list[Sample], rate: float = 0) -> Path:
    """Send them in sequence, at most `rate` a second if given; return the ledger."""
    ledger = Path(env["LEDGER_ROOT"]) / f"{run}.jsonl"
    producer = connect(env["KAFKA_BOOTSTRAP_SERVERS"])
    ledger.parent.mkdir(parents=True, exist_ok=True)
    with ledger.open("x") as stream:
        failures: list[str] = []
        try:
            send_all(producer, records, lambda record: acknowledge(record, stream, failures), rate)
        finally:  # interrupted, too: what is on its way is acknowledged or given up, and then known
            unknown = producer.flush(PATIENCE_SECONDS + 5)
    if failures or unknown:
        what = failures[0] if failures else "no answer"
        raise ProduceError(
            f"{len(failures) + unknown} of {len(records)} records were not acknowledged: {what}"
        )
    return ledger


def connect(bootstrap_servers: str) -> Producer:
    """A producer that neither loses nor doubles nor reorders, or a sentence about what is missing."""
    producer = Producer(
        {
            "bootstrap.servers": bootstrap_servers,
            "enable.idempotence": True,
            "acks": "all",
            "max.in.flight.requests.per.connection": 5,  # what idempotence makes of it anyway
            "partitioner": "murmur2_random",  # as Java does it: every hop puts a key on the same partition
            "linger.ms": 5,
            "message.timeout.ms": PATIENCE_SECONDS * 1000,
            "log_level": 0,  # what goes wrong is told by the delivery report
        }
    )
    try:
        found = producer.list_topics(timeout=5).topics
    except KafkaException:
        raise ProduceError(
            f"no broker answers at {bootstrap_servers}: start the stack (pipeline up)"
        ) from None
    if TOPIC not in found:
        raise ProduceError(
            f"there is no topic {TOPIC} at {bootstrap_servers}: run python -m connect topics"
        )
    return producer


Report = Callable[[KafkaError | None, Message], None]


def send_all(
    producer: Producer, records: list[Sample], report: Callable[[Sample], Report], rate: float
) -> None:
    """Hand every record over; where the queue is full, wait until some have been acknowledged."""
    started = time.monotonic()
    for number, record in enumerate(records):
        if rate:
            producer.poll(max(0.0, started + number / rate - time.monotonic()))
        while True:
            try:
                key, headers = record.order_id.encode(), record.headers()
                producer.produce(
                    TOPIC, record.value, key, headers=[*headers], on_delivery=report(record)
                )
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)


def acknowledge(record: Sample, ledger: TextIO, failures: list[str]) -> Report:
    """What to do when the broker has answered for this record."""

    def report(error: KafkaError | None, message: Message) -> None:
        if error:
            failures.append(f"{record.message_id or record.order_id}: {error.str()}")
        else:
            ledger.write(json.dumps(entry(record, message.partition(), message.offset())) + "\n")

    return report


def entry(record: Sample, partition: int | None, offset: int | None) -> dict[str, object]:
    """One line of the ledger."""
    return {
        "topic": TOPIC,
        "partition": partition,
        "offset": offset,
        "value_sha256": None if record.value is None else hashlib.sha256(record.value).hexdigest(),
        "message_id": record.message_id,
        "order_id": record.order_id,
        "kind": record.kind,
        "expected": record.expected,
    }
