"""Topics and brokers: what they lose of what was acknowledged, and how long they keep it."""

from collections.abc import Iterable, Sequence

from pipeline_check.reading.block import Block
from pipeline_check.rules.catalog import block_finding
from pipeline_check.rules.finding import Finding
from pipeline_check.rules.fixes import block_fix, client_fix
from pipeline_check.rules.nearest import nearest

DAY = 86_400_000  # ms
INTERNAL_TOPICS = (  # Kafka's own, and Connect's
    "offsets.topic.replication.factor",
    "transaction.state.log.replication.factor",
    "config.storage.replication.factor",
    "offset.storage.replication.factor",
    "status.storage.replication.factor",
    "offset-syncs.topic.replication.factor",  # and MirrorMaker's
    "heartbeats.topic.replication.factor",
    "checkpoints.topic.replication.factor",
)
REPLICATION_FACTOR = {"topic": "replication.factor", "broker": "default.replication.factor"}
TRANSACTIONS_IN_SYNC = "transaction.state.log.min.isr"
MIN_INSYNC = "min.insync.replicas"
RETENTIONS = {  # and the milliseconds of its unit
    "retention.ms": 1,
    "log.retention.ms": 1,
    "log.retention.hours": 3_600_000,
}


def find_in_topics(blocks: Sequence[Block]) -> Iterable[Finding]:
    """Check every topic, broker and worker."""
    for block in blocks:
        if block.kind in ("topic", "broker"):
            yield from replicas(block, nearest(blocks, "broker", block.file))
            yield from unclean_election(block)
            yield from retention(block)
        if block.kind == "broker":
            yield from topic_creation(block)
        is_mirror = block.kind == "producer" and block.client == "connect"
        if is_mirror or block.kind in ("broker", "worker"):
            yield from internal_topics(block)
        if block.kind == "connector":
            yield from created_topics(block)


def number(block: Block, name: str, default: int = 0) -> int:
    """Return a number that is written here, or the default; 0 if it comes from elsewhere."""
    if name not in block.settings:
        return 0 if block.opaque else default
    text = block.known(name) or ""
    return int(text) if text.isdigit() else 0


def replicas(block: Block, broker: Block | None) -> Iterable[Finding]:
    """Report too few copies, and too few that must be written before a record is acknowledged."""
    name = REPLICATION_FACTOR[block.kind]
    default_copies = 1
    default_in_sync = 1
    if broker:
        default_in_sync = number(broker, MIN_INSYNC, 1)
        if block.kind == "topic":
            default_copies = number(broker, REPLICATION_FACTOR["broker"], 1)
    copies = number(block, name, default_copies)
    in_sync = number(block, MIN_INSYNC, default_in_sync)
    if copies == 1:
        yield block_finding(
            block,
            "topic-one-replica",
            at=name,
            says=f"{name}=1",
            fix=client_fix(block, {name: "3", MIN_INSYNC: "2"}),
        )
    if copies > 1 and in_sync == 1:
        yield block_finding(
            block,
            "topic-acks-of-one",
            at=MIN_INSYNC,
            says=f"{MIN_INSYNC}=1",
            fix=client_fix(block, {MIN_INSYNC: "2"}),
        )
    elif in_sync > 1 and 0 < copies <= in_sync:
        yield block_finding(
            block,
            "topic-insync-blocks",
            at=MIN_INSYNC,
            says=f"{MIN_INSYNC}={in_sync} of {name}={copies}",
            fix=client_fix(block, {name: "3", MIN_INSYNC: "2"}),
        )


def unclean_election(block: Block) -> Iterable[Finding]:
    """Report a topic that may elect a leader which does not have every record."""
    name = "unclean.leader.election.enable"
    if (block.known(name) or "").lower() == "true":
        yield block_finding(
            block,
            "topic-unclean-election",
            at=name,
            says=f"{name}=true",
            fix=client_fix(block, {name: "false"}),
        )


def retention(block: Block) -> Iterable[Finding]:
    """Report records that are deleted within a day.

    Compacted topics are left alone, and so are heartbeats, which nobody reads later.
    """
    if "heartbeat" in block.name or block.known("cleanup.policy") == "compact":
        return
    for name, unit in RETENTIONS.items():
        kept = number(block, name)
        if 0 < kept * unit < DAY:
            yield block_finding(
                block,
                "topic-retention-short",
                at=name,
                says=f"{name}={kept}",
                fix=client_fix(block, {name: str(7 * DAY // unit)}),
            )


def topic_creation(block: Block) -> Iterable[Finding]:
    """Report a broker that creates topics by itself."""
    name = "auto.create.topics.enable"
    by_default = name not in block.settings
    if by_default or (block.known(name) or "").lower() == "true":
        yield block_finding(
            block,
            "broker-creates-topics",
            at=name,
            says=f"{name}=true becomes effective",
            fix=client_fix(block, {name: "false"}),
        )


def created_topics(block: Block) -> Iterable[Finding]:
    """Report a connector that makes its topics with a single copy."""
    name = "topic.creation.default.replication.factor"
    if block.known(name) == "1":
        yield block_finding(
            block,
            "topic-one-replica",
            at=name,
            says=f"{name}=1",
            fix=block_fix(block, {name: "3"}),
        )


def internal_topics(block: Block) -> Iterable[Finding]:
    """Report topics of Kafka's and Connect's own that have a single copy."""
    single = [name for name in INTERNAL_TOPICS if block.known(name) == "1"]
    if single:
        yield block_finding(
            block,
            "broker-own-topics-one-replica",
            at=single[0],
            says=f"{' and '.join(single)} = 1",
            fix=block_fix(block, dict.fromkeys(single, "3")),
        )
    copies = block.known("transaction.state.log.replication.factor") or ""
    in_sync = block.known(TRANSACTIONS_IN_SYNC) or ""
    if copies.isdigit() and in_sync.isdigit() and 1 < int(copies) <= int(in_sync):
        yield block_finding(
            block,
            "topic-insync-blocks",
            at=TRANSACTIONS_IN_SYNC,
            says=f"{TRANSACTIONS_IN_SYNC}={in_sync} of {copies} copies",
            fix=block_fix(block, {TRANSACTIONS_IN_SYNC: str(int(copies) - 1)}),
        )
