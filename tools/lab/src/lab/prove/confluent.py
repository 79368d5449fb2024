"""The Python producer: confluent-kafka, which is librdkafka."""

from collections.abc import Iterator
from itertools import islice

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from lab.prove.config import BACK_OFF, Job
from lab.prove.count import PARTITIONS
from lab.prove.place import make_topic
from ops.stack.stack import Stack
from ops.stack.supervisor import StackError

IN_FLIGHT = 5  # requests; without idempotence librdkafka would have a million, and each cut send all of them again


def send(stack: Stack, job: Job) -> int:
    """Send the numbers, and return how many of them the client gave up."""
    make_topic(stack, job.topic)
    own = {"bootstrap.servers": job.bootstrap, "batch.num.messages": job.together, "log_level": 0}
    try:
        producers = [Producer({**job.settings, **BACK_OFF, **own}) for _ in range(PARTITIONS)]
    except KafkaException as refusal:
        raise StackError(
            f"librdkafka refuses {dict(job.settings)}: {refusal.args[0].str()}"
        ) from None
    numbers = [iter(range(partition, job.messages, PARTITIONS)) for partition in range(PARTITIONS)]
    failed: list[bool] = []
    while len(failed) < job.messages:
        for partition, producer in enumerate(producers):
            room = max(0, job.together * IN_FLIGHT - len(producer))
            refill(producer, job.topic, partition, islice(numbers[partition], room), failed)
        producers[0].poll(0.001)  # not a wait for anything, only no spinning
    return sum(failed)


def refill(
    producer: Producer, topic: str, partition: int, numbers: Iterator[int], failed: list[bool]
) -> None:
    """Hand over what fits in flight, and hear what became of what was."""

    def report(error: KafkaError | None, _message: Message) -> None:
        failed.append(error is not None)

    for number in numbers:
        producer.produce(topic, b"%010d" % number, partition=partition, on_delivery=report)
    producer.poll(0)
