"""Sizes: what the database lets in must pass Connect and the topic, or one record stops it all."""

from collections.abc import Iterator

from pipeline_check.connector.outbox import Outbox
from pipeline_check.connector.surroundings import Table, parse_number
from pipeline_check.rules.finding import Finding

DEFAULT_REQUEST = 1_048_576  # max.request.size of the Java producer
ALTER_TOPIC = (
    "kafka-configs.sh --bootstrap-server $KAFKA_BOOTSTRAP_SERVERS --alter --entity-type topics"
)
OVERHEAD = 16_384  # key, headers and framing that come on top of a payload, generously
REQUEST_OVERRIDE = "producer.override.max.request.size"


def sizes(outbox: Outbox) -> Iterator[Finding]:
    """Check that the payload's CHECK is below the producer's limit, and that below the topic's."""
    table = outbox.table
    payload = outbox.router("table.field.event.payload", "payload") or ""
    limit = table.limits.get(payload) if table else None
    of_worker = parse_number(outbox.worker("producer.max.request.size"), DEFAULT_REQUEST)
    request = parse_number(outbox.value(REQUEST_OVERRIDE), of_worker)
    if table and payload in table.columns and limit is None:
        yield unbounded(outbox, table, payload, request)
    largest = limit + OVERHEAD if limit else request
    if largest > request:
        yield outbox.error(
            "size-above-connect",
            REQUEST_OVERRIDE,
            f"{limit} bytes of payload and {OVERHEAD} of headers exceed "
            f"max.request.size={request} of Connect",
            f"producer.max.request.size={largest}",
        )
    needed = min(largest, request)
    for topic, allowed in outbox.around.topics.items():
        if allowed < needed and is_routed_to(outbox, topic):
            yield outbox.error(
                "size-above-topic",
                "route.topic.replacement",
                f"{topic} takes {allowed} bytes, and this connector may send {needed}: it then "
                "stops for good",
                f"{ALTER_TOPIC} --entity-name {topic} --add-config max.message.bytes={needed}",
            )


def unbounded(outbox: Outbox, table: Table, payload: str, request: int) -> Finding:
    """Report a payload without a CHECK of its size."""
    is_bytes = table.columns[payload].type == "bytea"
    text = payload if is_bytes else f"{payload}::text"
    return outbox.warning(
        "payload-unbounded",
        "table.include.list",
        f"{table.name}.{payload} has no limit: one above {request} bytes stops the connector for "
        "good",
        f"alter table {table.name} add check (octet_length({text}) <= 262144);",
    )


def is_routed_to(outbox: Outbox, topic: str) -> bool:
    """Return whether the router may send to this topic."""
    replacement = outbox.router("route.topic.replacement", "outbox.event.${routedByValue}") or ""
    before, sign, after = replacement.partition("${routedByValue}")
    if not sign:
        return topic == replacement
    is_long_enough = len(topic) > len(before + after)
    return is_long_enough and topic.startswith(before) and topic.endswith(after)
