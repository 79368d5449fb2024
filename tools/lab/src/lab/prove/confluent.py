"""The Python producer: confluent-kafka, which is librdkafka."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import count, islice

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from lab.environment import make_topic
from lab.prove.job import PARTITIONS, SHORT_BACKOFF, TRANSACTIONAL, Job
from ops.stack.stack import Stack
from ops.stack.supervisor import StackError

# Requests; librdkafka without idempotence would have a million, and each cut would resend them all.
IN_FLIGHT = 5


def send(stack: Stack, job: Job) -> int:
    """Send the numbers, and return how many of them the client gave up."""
    make_topic(stack.env()["KAFKA_BOOTSTRAP_SERVERS"], job.topic, PARTITIONS)
    producers = [make_producer(job, number) for number in range(PARTITIONS)]
    if job.aborts:
        return send_and_abort(job, producers)
    lanes = [iter(range(partition, job.messages, PARTITIONS)) for partition in range(PARTITIONS)]
    failed: list[bool] = []
    while len(failed) < job.messages:
        for partition, producer in enumerate(producers):
            room = job.together * IN_FLIGHT - len(producer)
            numbers = islice(lanes[partition], max(0, room))
            produce(producer, job.topic, partition, numbers, failed)
        producers[0].poll(0.001)  # waits for nothing, and only keeps this loop from spinning
    return sum(failed)


def send_and_abort(job: Job, producers: Sequence[Producer]) -> int:
    """Do the same in transactions, with one between that is taken back; a control has none."""
    failed: list[bool] = []
    surplus = count(job.messages)
    size = job.transaction_messages
    for first in range(0, job.messages, size * PARTITIONS):
        last = min(job.messages, first + size * PARTITIONS)
        for partition, producer in enumerate(producers):
            wanted = range(first + partition, last, PARTITIONS)
            transact(job, producer, partition, wanted, failed, keep=True)
            unwanted = islice(surplus, job.together)
            transact(job, producer, partition, unwanted, failed, keep=False)
    return sum(failed)


def transact(  # noqa: PLR0913 - one transaction has all of these
    job: Job,
    producer: Producer,
    partition: int,
    numbers: Iterable[int],
    failed: list[bool],
    *,
    keep: bool,
) -> None:
    """Send these numbers, and when the broker has them, commit or abort."""
    is_transactional = TRANSACTIONAL in job.settings
    if is_transactional:
        producer.begin_transaction()
    produce(producer, job.topic, partition, iter(numbers), failed)
    producer.flush()
    if is_transactional and keep:
        producer.commit_transaction()
    elif is_transactional:
        producer.abort_transaction()


def make_producer(job: Job, number: int) -> Producer:
    """Return a producer with the settings of the job; of a transactional id, each has its own."""
    own: dict[str, str | int] = {
        "bootstrap.servers": job.bootstrap,
        "batch.num.messages": job.together,
        "log_level": 0,
    }
    if TRANSACTIONAL in job.settings:
        own[TRANSACTIONAL] = f"{job.settings[TRANSACTIONAL]}-{number}"
    try:
        producer = Producer({**job.settings, **SHORT_BACKOFF, **own})
        if TRANSACTIONAL in job.settings:
            producer.init_transactions()
        return producer
    except KafkaException as refusal:
        reason = refusal.args[0].str()
        raise StackError(f"librdkafka refuses {dict(job.settings)}: {reason}") from None


def produce(
    producer: Producer,
    topic: str,
    partition: int,
    numbers: Iterator[int],
    failed: list[bool],
) -> None:
    """Hand over these numbers; `failed` grows by one entry for each that was decided."""

    def report(error: KafkaError | None, _message: Message) -> None:
        failed.append(error is not None)

    for number in numbers:
        producer.produce(topic, b"%010d" % number, partition=partition, on_delivery=report)
    producer.poll(0)
