"""What only shows across files: partitioners and sizes that disagree, clients without rules."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from pipeline_check.clients.client import CLIENTS
from pipeline_check.clients.connect import default_policy
from pipeline_check.clients.java import NEWEST
from pipeline_check.reading.block import Block
from pipeline_check.reading.environment import NOT_DEBEZIUM
from pipeline_check.rules.catalog import block_finding
from pipeline_check.rules.finding import Finding
from pipeline_check.rules.fixes import block_fix, client_fix
from pipeline_check.rules.nearest import nearest
from pipeline_check.rules.producer_findings import with_company

OWN_HASHES = {"sarama", "kafka-go", "old-java"}  # which nobody has compared with the others
CRC32 = {"consistent", "consistent_random"}
RECORD_SIZES = ("max.request.size", "message.max.bytes", "max_request_size")
SIZE_LIMITS = ("max.message.bytes", "message.max.bytes")
OVERRIDE_POLICY = "connector.client.config.override.policy"
OVERRIDE_LIST = "connector.client.config.override.allowlist"
OF_THE_ROUTER = ("table.field", "table.fields.", "table.expand.", "route.by.", "route.topic.")
OVERRIDE = "producer.override."


class Limit(NamedTuple):
    """The largest record that a topic or a broker takes."""

    size: int
    block: Block
    setting: str


def find_across_files(blocks: Sequence[Block]) -> Iterable[Finding]:
    """Check partitioners and sizes, then each block that is not judged by itself."""
    yield from partitioners(blocks)
    yield from sizes(blocks)
    used = overridden(blocks)
    for block in blocks:
        if block.kind == "unjudged":
            yield block_finding(
                block,
                "client-not-judged",
                says=f"{block.client}: client not judged",
                fix="check by hand that enable.idempotence=true and acks=all",
            )
        if block.kind == "producer" and block.client == "spark":
            yield block_finding(
                block,
                "spark-sink-repeats",
                says="Spark's Kafka sink delivers at least once",
                fix="give each record an id, and remove repeats by it",
            )
        if block.client == "streams":
            yield from repeats_of_streams(block)
        if block.kind == "connector":
            yield from names_without_prefix(block)
        if block.kind == "worker":
            yield from overrides(block, used)
            yield from ignored_variables(block)


def repeats_of_streams(block: Block) -> Iterable[Finding]:
    """Report a Streams application whose output stands there twice after a crash."""
    name = "processing.guarantee"
    client = CLIENTS[block.client]
    asked = {key: each.text for key, each in block.settings.items() if each.known}
    guarantee = block.settings.get(name)
    is_default = guarantee is None and not block.opaque
    if is_default or (guarantee and guarantee.text == "at_least_once"):
        yield block_finding(
            block,
            "streams-repeats",
            at=name,
            says=f"{name}=at_least_once becomes effective",
            fix=client_fix(block, with_company(client, asked, {name: "exactly_once_v2"})),
        )


def names_without_prefix(block: Block) -> Iterable[Finding]:
    """Report settings of the event router that lack its prefix, so that it never sees them."""
    router = [
        name.removesuffix("type")
        for name, each in block.settings.items()
        if name.startswith("transforms.") and each.text.endswith("outbox.EventRouter")
    ]
    for name in block.settings:
        if router and name.startswith(OF_THE_ROUTER):
            yield block_finding(
                block,
                "setting-misspelt",
                at=name,
                says=f"{name} without {router[0]} before it is not the event router's",
                fix=f'"{router[0]}{name}": "{block.settings[name].text}"',
            )


def ignored_variables(block: Block) -> Iterable[Finding]:
    """Report variables that Debezium's image does not turn into settings."""
    for name in NOT_DEBEZIUM:
        if name in block.settings and f"{block.prefix}{name}" not in block.settings:
            yield block_finding(
                block,
                "setting-misspelt",
                at=name,
                says=f"{name} is not read by Debezium's image, which takes it with a prefix",
                fix=f'{block.prefix}{name}: "{block.settings[name].text}"',
            )


def key_hash(block: Block) -> str:
    """Return how a producer chooses the partition of a key; nothing where that is not visible."""
    if block.kind == "connector":
        return "murmur2"
    if block.client in OWN_HASHES:
        return ""
    if block.client != "librdkafka":
        own = "partitioner.class" in block.settings or "partitioner" in block.settings
        return "" if own else "murmur2"
    if "partitioner" not in block.settings:
        return "" if block.opaque else "CRC32"
    name = block.known("partitioner") or ""
    return "CRC32" if name in CRC32 else name.removesuffix("_random")


def partitioners(blocks: Sequence[Block]) -> Iterable[Finding]:
    """Report producers that put the same key in different partitions.

    Java's way is the right one, because every other client can follow it.
    """
    producers = [block for block in blocks if block.kind == "producer"]
    producers += [block for block in blocks if block.kind == "connector"]
    hashes = [(block, key_hash(block)) for block in producers]
    used = {name for _, name in hashes if name and name != "random"}
    if len(used) < 2:
        return
    for block, name in hashes:
        if not name or name in ("murmur2", "random"):
            continue
        other, others = next((each, way) for each, way in hashes if way and way != name)
        yield block_finding(
            block,
            "partitioner-disagrees",
            at="partitioner",
            says=f"partitioner {name}, where {other.file}:{other.line} has {others}",
            fix=client_fix(block, {"partitioner": "murmur2_random"}),
        )


def sizes(blocks: Sequence[Block]) -> Iterable[Finding]:
    """Report producers that send larger records than a topic or broker among the files takes."""
    limits = find_limits(blocks)
    if not limits:
        return
    least = min(limits, key=lambda limit: limit.size)
    for block in blocks:
        if block.kind != "producer":
            continue
        name = next((each for each in RECORD_SIZES if is_number(block.known(each))), "")
        text = block.known(name) or ""
        if name and int(text) > least.size:
            place = f"{least.block.file}:{least.block.line_of(least.setting)}"
            yield block_finding(
                block,
                "message-larger-than-topic",
                at=name,
                says=f"{name}={text}, where {place} has {least.setting}={least.size}",
                fix=client_fix(block, {name: str(least.size)}),
            )


def find_limits(blocks: Sequence[Block]) -> list[Limit]:
    """Collect the sizes that topics and brokers limit."""
    found = []
    for block in blocks:
        if block.kind in ("topic", "broker"):
            for name in SIZE_LIMITS:
                text = block.known(name)
                if text and is_number(text):
                    found.append(Limit(int(text), block, name))
    return found


def is_number(text: str | None) -> bool:
    """Return whether a text is a plain number."""
    return text is not None and text.isdigit()


def overrides(block: Block, used: Mapping[int, set[str]]) -> Iterable[Finding]:
    """Report a worker that lets every connector change its clients; the default since 3.0.

    The policy to write instead allows what its connectors override, and nothing else.
    """
    default = default_policy(block.version or NEWEST)
    is_open = OVERRIDE_POLICY not in block.settings and default == "All"
    if is_open or block.known(OVERRIDE_POLICY) == "All":
        policy = {OVERRIDE_POLICY: "None"}
        names = used.get(id(block))
        if names:
            policy = {OVERRIDE_POLICY: "Allowlist", OVERRIDE_LIST: ",".join(sorted(names))}
        yield block_finding(
            block,
            "connect-overrides-open",
            at=OVERRIDE_POLICY,
            says=f"{OVERRIDE_POLICY}=All becomes effective",
            fix=block_fix(block, policy),
        )


def overridden(blocks: Sequence[Block]) -> dict[int, set[str]]:
    """Return what the connectors of each worker override, by the worker's identity."""
    found: dict[int, set[str]] = defaultdict(set)
    for block in blocks:
        names = {name for name in block.settings if name.startswith(OVERRIDE)}
        worker = nearest(blocks, "worker", block.file) if names else None
        if worker:
            found[id(worker)] |= {name.removeprefix(OVERRIDE) for name in names}
    return found
