"""Every rule on every outbox connector among the blocks that were read."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from pipeline_check.connector import (
    columns,
    converters,
    guarantees,
    heartbeat,
    routing,
    secrets,
    sizes,
    values,
)
from pipeline_check.connector.migrations import find_publications, find_tables
from pipeline_check.connector.outbox import POSTGRES, Outbox
from pipeline_check.connector.surroundings import Surroundings, parse_number
from pipeline_check.reading.block import Block
from pipeline_check.rules.finding import Finding
from pipeline_check.rules.nearest import nearest

RULES = (
    routing.predicate,
    routing.topic_prefix,
    routing.included,
    routing.published,
    routing.route,
    heartbeat.heartbeat,
    columns.columns,
    converters.constant_headers,
    converters.converters,
    sizes.sizes,
    secrets.secrets,
    values.wrong_values,
    guarantees.exactly_once,
    guarantees.overrides,
    guarantees.failover,
)
SLOT = ("database.hostname", "database.port", "slot.name")


def lint(blocks: Sequence[Block], sql: Iterable[str]) -> list[Finding]:
    """Check all outbox connectors, with the SQL of the migrations that build their databases."""
    connectors = [block for block in blocks if is_outbox(Outbox(block, Surroundings()))]
    others = list(other_outboxes(blocks))
    if not connectors:
        return others  # among thousands of files there is usually none
    texts = list(sql)
    tables = find_tables(texts)
    publications = find_publications(texts)
    topics = topic_sizes(blocks)
    outboxes = []
    for block in connectors:
        worker = nearest(blocks, "worker", block.file)
        around = Surroundings(tables, publications, worker, topics)
        outboxes.append(Outbox(block, around))
    found = [finding for outbox in outboxes for finding in judge(outbox)]
    return others + found + list(shared_slots(outboxes))


def other_outboxes(blocks: Sequence[Block]) -> Iterator[Finding]:
    """Yield a note for each outbox of another database, whose rules are others."""
    for block in blocks:
        outbox = Outbox(block, Surroundings())
        is_connector = block.kind == "connector"
        if is_connector and outbox.prefix and outbox.value("connector.class") != POSTGRES:
            name = (outbox.value("connector.class") or "").rpartition(".")[2] or "a connector"
            yield outbox.note(
                "outbox-not-judged",
                "connector.class",
                f"{name}: its outbox is not judged, only its producer; the rules here are those "
                "of PostgreSQL",
                "check by hand that inserts reach the router, and that nothing is skipped",
            )


def topic_sizes(blocks: Sequence[Block]) -> dict[str, int]:
    """Return the largest record that each topic takes, by itself or by its broker, if known."""
    found = {}
    for block in blocks:
        if block.kind != "topic":
            continue
        broker = nearest(blocks, "broker", block.file)
        of_broker = parse_number(broker.known("message.max.bytes")) if broker else 0
        size = parse_number(block.known("max.message.bytes"), of_broker)
        if size:
            found[block.name] = size
    return found


def is_outbox(outbox: Outbox) -> bool:
    """Return whether this is a Debezium connector for PostgreSQL with an event router."""
    if outbox.block.kind != "connector" or outbox.value("connector.class") != POSTGRES:
        return False
    return bool(outbox.prefix)


def judge(outbox: Outbox) -> list[Finding]:
    """Return what all rules say about one connector."""
    return [finding for rule in RULES for finding in rule(outbox)]


def shared_slots(outboxes: Sequence[Outbox]) -> Iterator[Finding]:
    """Check that no two connectors of one server read the same slot: only one of them can run."""
    places = [tuple(outbox.value(key) for key in SLOT) for outbox in outboxes]
    taken = Counter(places)
    for outbox, place in zip(outboxes, places, strict=True):
        name = outbox.value("slot.name")
        if name and taken[place] > 1:
            yield outbox.error(
                "slot-shared",
                "slot.name",
                f"slot.name={name} is another connector's too: only one of them can run",
                f'"slot.name": "{outbox.block.name or "<service>"}_outbox"',
            )
