"""python -m tests.e2e.leaving_member leave | close TOPIC [BROKER]: leave at a bad moment.

With the id of the broker's process: while a commit has no answer, since the broker is frozen just
before. Without: as soon as the group has given partitions, of which the member does not know yet.
`close` is the control: it closes the client alone. That may hold the interpreter's lock for ever,
so it has a process of its own.
"""

import os
import sys
from contextlib import suppress
from functools import partial
from signal import SIGSTOP

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from service.consumer import RecordConsumer
from service.outage import OutageError
from service.settings import Settings
from tests.client import until


def main(how: str, topic: str, broker: str = "") -> None:
    """Come to the bad moment, and leave."""
    settings = Settings(input_topic=topic, group_id=topic)
    consumer = RecordConsumer(settings, is_stopping=lambda: False)
    if broker:
        commit_without_answer(consumer, int(broker))
    else:
        join(consumer, settings)
    sys.stdout.write("leaves\n")
    sys.stdout.flush()
    if how == "leave":
        consumer.leave()
    else:
        consumer.consumer.close()
    sys.exit("has left")


def commit_without_answer(consumer: RecordConsumer, broker: int) -> None:
    """Read a batch, and fail to commit it."""
    while not (batch := consumer.gather()):
        pass
    os.kill(broker, SIGSTOP)
    with suppress(OutageError):
        consumer.commit(batch)


def join(consumer: RecordConsumer, settings: Settings) -> None:
    """Join, and wait until the group has given partitions; say when it asks where they begin."""
    find_start = consumer.find_start

    def ask(partitions: list[TopicPartition]) -> list[TopicPartition]:
        sys.stderr.write("asks\n")
        return find_start(partitions)

    consumer.find_start = ask  # type: ignore[method-assign]
    consumer.join()
    until(partial(given, settings), bool, 30, "the group has not given it partitions")


def given(settings: Settings) -> list[TopicPartition]:
    """Return the partitions that the group has given its members."""
    groups = AdminClient({"bootstrap.servers": settings.kafka_bootstrap_servers})
    group = groups.describe_consumer_groups([settings.group_id])[settings.group_id].result(30)
    return [part for one in group.members for part in one.assignment.topic_partitions]


if __name__ == "__main__":
    main(*sys.argv[1:])
