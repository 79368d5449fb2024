"""Sizes: what the database lets in must pass Connect and every topic, for one record too large stops them all."""

from collections.abc import Iterator

from pipeline_check.connector.outbox import Outbox
from pipeline_check.connector.patterns import number
from pipeline_check.rules.finding import Finding, Severity

REQUEST = 1_048_576  # max.request.size of the Java producer
CONFIGS = (
    "kafka-configs.sh --bootstrap-server $KAFKA_BOOTSTRAP_SERVERS --alter --entity-type topics"
)
OVERHEAD = 16_384  # key, headers and framing that come on top of a payload, generously


def sizes(outbox: Outbox) -> Iterator[Finding]:
    """The payload's CHECK is below the producer's limit, and that below the topic's."""
    name = outbox.router("table.field.event.payload", "payload") or ""
    limit = outbox.table.limits.get(name) if outbox.table else None
    of_worker = number(outbox.worker("producer.max.request.size"), REQUEST)
    request = number(outbox.value("producer.override.max.request.size"), of_worker)
    if outbox.table and name in outbox.table.columns and limit is None:
        message = f"{outbox.table.name}.{name} has no limit: one above {request} bytes stops the connector for good"
        text = f"{name}::text" if outbox.table.columns[name].type != "bytea" else name
        fix = f"alter table {outbox.table.name} add check (octet_length({text}) <= 262144);"
        yield outbox.finding(
            "payload-unbounded", Severity.WARNING, "table.include.list", message, fix
        )
    if limit and limit + OVERHEAD > request:
        message = f"{limit} bytes of payload and {OVERHEAD} of headers exceed max.request.size={request} of Connect"
        fix = f"producer.max.request.size={limit + OVERHEAD}"
        yield outbox.finding(
            "size-above-connect", Severity.ERROR, "producer.override.max.request.size", message, fix
        )
    for topic, allowed in outbox.around.topics.items():
        needed = min(limit + OVERHEAD if limit else request, request)
        if routed(outbox, topic) and allowed < needed:
            message = f"{topic} takes {allowed} bytes, and this connector may send {needed}: it then stops for good"
            fix = f"{CONFIGS} --entity-name {topic} --add-config max.message.bytes={needed}"
            yield outbox.finding(
                "size-above-topic", Severity.ERROR, "route.topic.replacement", message, fix
            )


def routed(outbox: Outbox, topic: str) -> bool:
    """Whether the router may send to this topic."""
    replacement = outbox.router("route.topic.replacement", "outbox.event.${routedByValue}") or ""
    before, sign, after = replacement.partition("${routedByValue}")
    if not sign:
        return topic == replacement
    return len(topic) > len(before + after) and topic.startswith(before) and topic.endswith(after)
