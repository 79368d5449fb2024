"""The topics of the broker: whether what was acknowledged stays, and whether events do."""

from collections.abc import Iterable, Iterator, Sequence

from pipeline_check.connector.outbox import Outbox
from pipeline_check.connector.sizes import CONFIGS, routed
from pipeline_check.live.broker import Broker, Topic, cluster
from pipeline_check.rules.catalog import make_finding as finding
from pipeline_check.rules.finding import Finding, Severity

DAY = 86_400_000  # a reader that is repaired the next morning must find everything
ERROR = Severity.ERROR


def of_broker(broker: Broker, outboxes: Sequence[Outbox]) -> Iterator[Finding]:
    """The brokers, every topic, and those that events go to."""
    yield from cluster(broker)
    for one in broker.topics.values():
        yield from topic(one, broker.brokers)
        if is_routed(one, outboxes):
            yield from events(one)
    for outbox in outboxes:
        yield from heartbeats(broker, outbox)


def topic(one: Topic, brokers: int) -> Iterator[Finding]:
    """What was acknowledged outlives one broker, and can be written at all."""
    place, least, copies = f"broker/{one.name}", one.number("min.insync.replicas", 1), one.replicas
    if copies < 2 <= brokers:
        fix = f"kafka-reassign-partitions.sh, to three replicas of {one.name}"
        yield finding("topic-one-replica", place, 0, "one replica", fix)
    elif least > copies or 1 < copies == least:
        says, fix = (
            f"min.insync.replicas={least} of {copies}",
            alter(one, f"min.insync.replicas={max(1, copies - 1)}"),
        )
        yield finding("topic-insync-blocks", place, 0, says, fix)
    elif copies > least == 1:
        fix = alter(one, "min.insync.replicas=2")
        yield finding("topic-acks-of-one", place, 0, f"min.insync.replicas=1 of {copies}", fix)
    if one.settings.get("unclean.leader.election.enable") == "true":
        fix = alter(one, "unclean.leader.election.enable=false")
        yield finding(
            "topic-unclean-election", place, 0, "unclean.leader.election.enable=true", fix
        )


def events(one: Topic) -> Iterator[Finding]:
    """Events stay for whoever reads later."""
    place, kept = f"broker/{one.name}", one.number("retention.ms", -1)
    if "compact" in one.settings.get("cleanup.policy", ""):
        message = f"{one.name} is compacted: of the events of one key only the last stays"
        yield Finding(
            "topic-compacted", ERROR, place, 0, message, alter(one, "cleanup.policy=delete")
        )
    if 0 <= kept < DAY:
        yield finding(
            "topic-retention-short",
            place,
            0,
            f"retention.ms={kept}",
            alter(one, "retention.ms=604800000"),
        )


def heartbeats(broker: Broker, outbox: Outbox) -> Iterator[Finding]:
    """The topic of the heartbeat is there, where nobody makes it."""
    prefix = outbox.value("topic.heartbeat.prefix", "__debezium-heartbeat")
    name = f"{prefix}.{outbox.value('topic.prefix')}"
    created = broker.settings.get("auto.create.topics.enable") == "true"
    if (
        outbox.value("heartbeat.interval.ms", "0") != "0"
        and name not in broker.topics
        and not created
    ):
        message = f"{name} does not exist, and nobody makes it: the connector waits for it and publishes nothing"
        fix = f"{CONFIGS.split(' --alter')[0].replace('configs', 'topics')} --create --topic {name}"
        yield Finding("heartbeat-topic-missing", ERROR, f"broker/{name}", 0, message, fix)


def is_routed(one: Topic, outboxes: Iterable[Outbox]) -> bool:
    """Whether an outbox may send to this topic."""
    return any(routed(outbox, one.name) for outbox in outboxes)


def alter(one: Topic, setting: str) -> str:
    """The command that sets it."""
    return f"{CONFIGS} --entity-name {one.name} --add-config {setting}"
