"""Every rule on every outbox connector among the blocks that were read."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from pipeline_check.connector import (
    columns,
    converters,
    guarantees,
    headers,
    heartbeat,
    routing,
    secrets,
    sizes,
    values,
)
from pipeline_check.connector.ddl import publications, tables
from pipeline_check.connector.outbox import POSTGRES, Outbox
from pipeline_check.connector.patterns import number
from pipeline_check.connector.surroundings import Surroundings
from pipeline_check.reading.block import Block
from pipeline_check.rules.finding import Finding, Severity
from pipeline_check.rules.nearest import nearest

RULES = (
    *(routing.predicate, routing.included, routing.published, routing.route),
    *(
        heartbeat.heartbeat,
        columns.columns,
        headers.constant_headers,
        converters.converters,
        sizes.sizes,
    ),
    *(secrets.secrets, values.wrong_values, *guarantees.RULES),
)


def lint(blocks: Sequence[Block], sql: Iterable[str]) -> list[Finding]:
    """The findings of all outbox connectors, with the SQL of the migrations that build their databases."""
    found = [block for block in blocks if is_outbox(Outbox(block, Surroundings()))]
    if not found:
        return []  # among thousands of files there is usually none
    texts = list(sql)
    known, published = tables(texts), publications(texts)
    sized = {b.name: size for b in blocks if b.kind == "topic" and (size := largest(b, blocks))}
    beside = [
        Surroundings(known, published, nearest(blocks, "worker", block.file), sized)
        for block in found
    ]
    outboxes = [Outbox(block, around) for block, around in zip(found, beside, strict=True)]
    return [*(finding for outbox in outboxes for finding in judge(outbox)), *shared_slots(outboxes)]


def largest(topic: Block, blocks: Sequence[Block]) -> int:
    """The largest record that a topic takes, by itself or by its broker; 0 where neither says it."""
    broker = nearest(blocks, "broker", topic.file)
    return number(
        topic.known("max.message.bytes"), number(broker.known("message.max.bytes")) if broker else 0
    )


def is_outbox(outbox: Outbox) -> bool:
    """Whether this is a Debezium connector for PostgreSQL with an event router."""
    return (
        outbox.block.kind == "connector"
        and outbox.value("connector.class") == POSTGRES
        and bool(outbox.prefix)
    )


def judge(outbox: Outbox) -> list[Finding]:
    """What all rules say about one connector."""
    return [finding for rule in RULES for finding in rule(outbox)]


def shared_slots(outboxes: Sequence[Outbox]) -> Iterator[Finding]:
    """No two connectors of one server read the same slot: each would take the other's rows."""

    def place(outbox: Outbox) -> tuple[str | None, ...]:
        return tuple(
            outbox.value(key) for key in ("database.hostname", "database.port", "slot.name")
        )

    taken = Counter(place(outbox) for outbox in outboxes)
    for outbox in outboxes:
        if taken[place(outbox)] > 1 and outbox.value("slot.name"):
            message = f"slot.name={outbox.value('slot.name')} is another connector's too: only one of them can run"
            fix = f'"slot.name": "{outbox.block.name or "<service>"}_outbox"'
            yield outbox.finding("slot-shared", Severity.ERROR, "slot.name", message, fix)
