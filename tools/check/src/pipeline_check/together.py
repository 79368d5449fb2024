"""What only shows when several files are looked at together: partitioners, sizes, clients without rules."""

from collections.abc import Iterable, Sequence

from pipeline_check.finding import Finding
from pipeline_check.fixes import paste, written
from pipeline_check.reading.block import Block
from pipeline_check.rules import finding

CRC32 = {"consistent", "consistent_random"}
SIZES = ("max.request.size", "message.max.bytes", "max_request_size")
LIMITS = ("max.message.bytes", "message.max.bytes")


def together(blocks: Sequence[Block]) -> Iterable[Finding]:
    """Partitioners, sizes, override policies, Spark's sinks, and what is not judged."""
    yield from partitioners(blocks)
    yield from sizes(blocks)
    for block in blocks:
        if block.kind == "unjudged":
            says, fix = (
                f"{block.client}: client not judged",
                "check by hand that enable.idempotence=true and acks=all",
            )
            yield finding("client-not-judged", block.file, block.line, says, fix)
        if block.kind == "producer" and block.client == "spark":
            says, fix = (
                "Spark's Kafka sink delivers at least once",
                "give each record an id, and remove repeats by it",
            )
            yield finding("spark-sink-repeats", block.file, block.line, says, fix)
        if block.kind == "worker":
            yield from overrides(block)


def hashing(block: Block) -> str:
    """How a producer chooses the partition of a key; nothing where that cannot be seen."""
    if block.client == "librdkafka":
        if block.opaque and "partitioner" not in block.settings:
            return ""
        name = (
            block.known("partitioner") if "partitioner" in block.settings else "consistent_random"
        )
        return "CRC32" if name in CRC32 else (name or "").removesuffix("_random")
    own = [name for name in ("partitioner.class", "partitioner") if name in block.settings]
    return "" if own else "murmur2"


def partitioners(blocks: Sequence[Block]) -> Iterable[Finding]:
    """Producers that put the same key in different partitions; Java's way is the one that others can follow."""
    found = [(block, hashing(block)) for block in blocks if block.kind == "producer"]
    found += [(block, "murmur2") for block in blocks if block.kind == "connector"]
    names = {name for _, name in found if name and name != "random"}
    for block, name in found if len(names) > 1 else []:
        if name and name not in ("murmur2", "random"):
            other = next(each for each, way in found if way and way != name)
            says = f"partitioner {name}, where {other.file}:{other.line} has {hashing(other) or 'murmur2'}"
            fix = paste(block, {"partitioner": "murmur2_random"})
            yield finding(
                "partitioner-disagrees", block.file, block.line_of("partitioner"), says, fix
            )


def sizes(blocks: Sequence[Block]) -> Iterable[Finding]:
    """Producers that send larger records than a topic or broker among the files takes."""
    limits = [
        (int(text), block, name)
        for block in blocks
        for name in LIMITS
        if block.kind in ("topic", "broker") and (text := block.known(name) or "").isdigit()
    ]
    for block in blocks:
        name = next((name for name in SIZES if (block.known(name) or "").isdigit()), "")
        if block.kind == "producer" and name and limits:
            limit, other, theirs = min(limits, key=lambda each: each[0])
            if int(block.known(name) or 0) > limit:
                says = f"{name}={block.known(name)}, where {other.file}:{other.line_of(theirs)} has {theirs}={limit}"
                fix = paste(block, {name: str(limit)})
                yield finding(
                    "message-larger-than-topic", block.file, block.line_of(name), says, fix
                )


def overrides(block: Block) -> Iterable[Finding]:
    """A worker that lets every connector change its clients; the default since 3.0."""
    name = "connector.client.config.override.policy"
    if name not in block.settings or block.known(name) == "All":
        says = f"{name}=All becomes effective"
        yield finding(
            "connect-overrides-open",
            block.file,
            block.line_of(name),
            says,
            written(block, {name: "None"}),
        )
