"""A whole topic that is delivered again, every order known, against its first handling."""

from functools import partial

from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient

from lab.bench.numbers import NO_TARGET, Number, Target, compare
from lab.bench.write import handle_all, ours, rate
from lab.environment import make_topic
from lab.reference_orders import FIRST, send
from ops.produce import connect
from ops.stack.stack import Stack
from service.settings import Settings

TOPIC = "redelivery"
PARTITIONS = 3
KAFKA_SECONDS = 30


def measure(stack: Stack, orders: int, rounds: int) -> list[Number]:
    """Return the rates of both with audit, and beside them without."""
    env = stack.env() | {"INPUT_TOPIC": TOPIC}
    servers = env["KAFKA_BOOTSTRAP_SERVERS"]
    make_topic(servers, TOPIC, PARTITIONS)
    send(connect(servers), TOPIC, range(FIRST, FIRST + orders))
    ways = {
        "again": again,
        "first": handle_all,
        "again without audit": again_without_audit,
        "first without audit": ours,
    }
    arms = {name: partial(rate, env, orders, way) for name, way in ways.items()}
    targets = {
        "again / first": Target(goal=">= 4"),
        "again without audit / first without audit": NO_TARGET,
    }
    return compare("redelivery", arms, targets, rounds, stack.step)


def again(settings: Settings, count: int) -> float:
    """Return the seconds of the second time; `rate` then finds every order once."""
    handle_all(settings, count)
    go_to_the_beginning(settings)
    return handle_all(settings, count)


def again_without_audit(settings: Settings, count: int) -> float:
    """Return the same without POST and mark, both times."""
    ours(settings, count)
    go_to_the_beginning(settings)
    return ours(settings, count)


def go_to_the_beginning(settings: Settings) -> None:
    """Set the group's offsets to the beginning of the topic, as an operator does who replays it."""
    admin = AdminClient({"bootstrap.servers": settings.kafka_bootstrap_servers, "log_level": 0})
    beginning = [TopicPartition(settings.input_topic, number, 0) for number in range(PARTITIONS)]
    wanted = ConsumerGroupTopicPartitions(settings.group_id, beginning)
    [done] = admin.alter_consumer_group_offsets([wanted]).values()
    for partition in done.result(KAFKA_SECONDS).topic_partitions:
        assert partition.error is None, f"{partition}: the group was not reset"
