"""The Python producer: confluent-kafka, which is librdkafka."""

from collections.abc import Iterator
from itertools import islice

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from lab.environment import make_topic
from lab.prove.job import PARTITIONS, SHORT_BACKOFF, Job
from ops.stack.stack import Stack
from ops.stack.supervisor import StackError

# Requests; librdkafka without idempotence would have a million, and each cut would resend them all.
IN_FLIGHT = 5


def send(stack: Stack, job: Job) -> int:
    """Send the numbers, and return how many of them the client gave up."""
    make_topic(stack.env()["KAFKA_BOOTSTRAP_SERVERS"], job.topic, PARTITIONS)
    producers = [make_producer(job) for _ in range(PARTITIONS)]
    lanes = [iter(range(partition, job.messages, PARTITIONS)) for partition in range(PARTITIONS)]
    failed: list[bool] = []
    while len(failed) < job.messages:
        for partition, producer in enumerate(producers):
            room = job.together * IN_FLIGHT - len(producer)
            numbers = islice(lanes[partition], max(0, room))
            produce(producer, job.topic, partition, numbers, failed)
        producers[0].poll(0.001)  # waits for nothing, and only keeps this loop from spinning
    return sum(failed)


def make_producer(job: Job) -> Producer:
    """Return a producer with the settings of the job."""
    own = {
        "bootstrap.servers": job.bootstrap,
        "batch.num.messages": job.together,
        "log_level": 0,
    }
    try:
        return Producer({**job.settings, **SHORT_BACKOFF, **own})
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
