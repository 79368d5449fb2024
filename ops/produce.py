"""Send orders, and keep a ledger of exactly those records that the broker has acknowledged."""

import hashlib
import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from confluent_kafka import KafkaError, Message, Producer

from access.kafka import kafka_connection
from contract.names import INPUT_TOPIC
from contract.samples import Sample
from ops.settings import Env
from ops.stack.supervisor import StackError
from ops.topic import refuse_without_topic

PATIENCE_SECONDS = 30  # for one record; librdkafka's own five minutes look like a hanging command

NUMBERS_IN_A_MILLISECOND = 100_000  # 18 digits are read; no run sends that many in that time

Report = Callable[[KafkaError | None, Message], None]
Headers = list[tuple[str, str | bytes | None]]


def new_run() -> str:
    """Return a prefix for the ids of one run: they sort by time, and no other run has them."""
    now = datetime.now(UTC).strftime("%Y%m%d-%H%M%S-%f")
    milliseconds = now[:-3]
    return f"r{milliseconds}"


def produce(
    env: Env,
    run: str,
    records: list[Sample],
    rate: float = 0,
) -> Path:
    """Send the records in sequence, at most `rate` a second if given; return the ledger."""
    topic = env["INPUT_TOPIC"]
    producer = connect(env["KAFKA_BOOTSTRAP_SERVERS"], topic)
    file = Path(env["LEDGER_ROOT"], f"{run}.jsonl")
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("x") as stream:
        ledger = Ledger(topic, stream)
        try:
            send_all(producer, topic, records, ledger.report, rate)
        finally:  # interrupted, too: wait until each record is acknowledged or given up
            unknown = producer.flush(PATIENCE_SECONDS + 5)
    missing = len(ledger.failures) + unknown
    if missing:
        cause = ledger.failures[0] if ledger.failures else "no answer"
        total = len(records)
        raise StackError(f"{missing} of {total} records were not acknowledged: {cause}")
    return file


def connect(bootstrap: str, topic: str = INPUT_TOPIC) -> Producer:
    """Return a producer that neither loses nor doubles nor reorders, if the topic is there."""
    producer = Producer(
        {
            **kafka_connection(bootstrap),
            "enable.idempotence": True,
            "acks": "all",
            "max.in.flight.requests.per.connection": 5,  # what idempotence makes of it anyway
            "partitioner": "murmur2_random",  # as Java does it: one partition for a key everywhere
            "linger.ms": 5,
            "message.timeout.ms": PATIENCE_SECONDS * 1000,
            "log_level": 0,  # the delivery report says what goes wrong
        }
    )
    refuse_without_topic(producer, bootstrap, topic)
    return producer


def send_all(
    producer: Producer,
    topic: str,
    records: list[Sample],
    report: Callable[[Sample], Report],
    rate: float,
) -> None:
    """Hand every record over; where the queue is full, wait until some have been acknowledged.

    Each has a number above all before it, of earlier runs too: some dedup stores need one.
    """
    started = time.monotonic()
    first = time.time_ns() // 1_000_000 * NUMBERS_IN_A_MILLISECOND
    for number, record in enumerate(records):
        if rate:
            due = started + number / rate
            early_by = due - time.monotonic()
            producer.poll(max(0.0, early_by))
        on_delivery = report(record)
        while not try_to_send(producer, topic, record, on_delivery, first + number):
            producer.poll(0.1)
        producer.poll(0)


def try_to_send(
    producer: Producer,
    topic: str,
    record: Sample,
    on_delivery: Report,
    sequence: int | None = None,
) -> bool:
    """Hand one record over, with its number if it has one; say whether the queue had room."""
    key = record.order_id.encode()
    headers: Headers = [*record.headers()]
    if sequence is not None:
        headers.append(("sequence", str(sequence)))
    try:
        producer.produce(
            topic,
            record.value,
            key,
            headers=headers,
            on_delivery=on_delivery,
        )
    except BufferError:
        return False
    return True


class Ledger:
    """One line for each record that was acknowledged, and the reasons why others were not."""

    def __init__(self, topic: str, stream: TextIO) -> None:
        self.topic = topic
        self.stream = stream
        self.failures: list[str] = []

    def report(self, record: Sample) -> Report:
        """Return what to do when the broker has answered for this record."""

        def on_delivery(error: KafkaError | None, message: Message) -> None:
            if error:
                name = record.message_id or record.order_id
                self.failures.append(f"{name}: {error.str()}")
                return
            partition = message.partition()
            offset = message.offset()
            line = entry(record, self.topic, partition, offset)
            text = json.dumps(line)
            self.stream.write(text + "\n")

        return on_delivery


def entry(
    record: Sample,
    topic: str,
    partition: int | None,
    offset: int | None,
) -> dict[str, object]:
    """Return one line of the ledger; a tombstone has no hash."""
    value_sha256 = None
    if record.value is not None:
        value_sha256 = hashlib.sha256(record.value).hexdigest()
    return {
        "topic": topic,
        "partition": partition,
        "offset": offset,
        "value_sha256": value_sha256,
        "message_id": record.message_id,
        "order_id": record.order_id,
        "kind": record.kind,
        "expected": record.expected,
    }
