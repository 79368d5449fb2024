"""Topics and brokers: what they lose of what was acknowledged, and how long they keep it."""

from collections.abc import Iterable, Sequence

from pipeline_check.finding import Finding
from pipeline_check.fixes import paste, written
from pipeline_check.nearest import nearest
from pipeline_check.reading.block import Block
from pipeline_check.rules import finding

DAY = 86_400_000  # ms
OWN_TOPICS = ("offsets.topic.replication.factor", "transaction.state.log.replication.factor")
WORKERS_TOPICS = tuple(
    f"{name}.storage.replication.factor" for name in ("config", "offset", "status")
)
REPLICAS = {"topic": "replication.factor", "broker": "default.replication.factor"}


def topics(blocks: Sequence[Block]) -> Iterable[Finding]:
    """The findings of every topic, broker and worker."""
    for block in blocks:
        if block.kind in ("topic", "broker"):
            yield from replicas(block, nearest(blocks, "broker", block.file))
            yield from unclean(block)
            yield from retention(block)
        if block.kind == "broker":
            yield from creates(block)
        if block.kind in ("broker", "worker"):
            yield from own_topics(block)


def number(block: Block | None, name: str, default: int = 0) -> int:
    """A number that is written here; the default if it is not set; nothing if it comes from elsewhere."""
    if not block or name not in block.settings:
        return default if block and not block.opaque else 0
    text = block.known(name) or ""
    return int(text) if text.isdigit() else 0


def replicas(block: Block, broker: Block | None) -> Iterable[Finding]:
    """How many copies there are, and how many must be written before a record counts as acknowledged."""
    name = REPLICAS[block.kind]
    copies = number(
        block,
        name,
        number(broker, REPLICAS["broker"], 1) if block.kind == "topic" and broker else 1,
    )
    default = number(broker, "min.insync.replicas", 1) if broker else 1
    insync, at = number(block, "min.insync.replicas", default), block.line_of("min.insync.replicas")
    both = {name: "3", "min.insync.replicas": "2"}
    if copies == 1:
        yield finding(
            "topic-one-replica", block.file, block.line_of(name), f"{name}=1", paste(block, both)
        )
    elif copies > 1 and insync == 1:
        says, fix = "min.insync.replicas=1", paste(block, {"min.insync.replicas": "2"})
        yield finding("topic-acks-of-one", block.file, at, says, fix)
    elif 1 < copies <= insync:
        says = f"min.insync.replicas={insync} of {name}={copies}"
        yield finding("topic-insync-blocks", block.file, at, says, paste(block, both))


def unclean(block: Block) -> Iterable[Finding]:
    """A leader that does not have everything."""
    name = "unclean.leader.election.enable"
    if (block.known(name) or "").lower() == "true":
        yield finding(
            "topic-unclean-election",
            block.file,
            block.line_of(name),
            f"{name}=true",
            paste(block, {name: "false"}),
        )


def retention(block: Block) -> Iterable[Finding]:
    """Records that are deleted within a day, unless they are compacted, or heartbeats, which nobody reads later."""
    if "heartbeat" in block.name:
        return
    for name, unit in (
        ("retention.ms", 1),
        ("log.retention.ms", 1),
        ("log.retention.hours", 3_600_000),
    ):
        kept = number(block, name) * unit
        if 0 < kept < DAY and block.known("cleanup.policy") != "compact":
            fix = paste(block, {name: str(7 * DAY // unit)})
            yield finding(
                "topic-retention-short",
                block.file,
                block.line_of(name),
                f"{name}={kept // unit}",
                fix,
            )


def creates(block: Block) -> Iterable[Finding]:
    """Topics that make themselves."""
    name = "auto.create.topics.enable"
    if name not in block.settings or (block.known(name) or "").lower() == "true":
        fix = paste(block, {name: "false"})
        yield finding(
            "broker-creates-topics",
            block.file,
            block.line_of(name),
            f"{name}=true becomes effective",
            fix,
        )


def own_topics(block: Block) -> Iterable[Finding]:
    """Kafka's and Connect's own topics with a single copy."""
    alone = [name for name in (*OWN_TOPICS, *WORKERS_TOPICS) if block.known(name) == "1"]
    if alone:
        says = f"{' and '.join(alone)} = 1"
        fix = written(block, dict.fromkeys(alone, "3"))
        yield finding(
            "broker-own-topics-one-replica", block.file, block.line_of(alone[0]), says, fix
        )
