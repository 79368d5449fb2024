"""Consumers: which of their settings lose, double or skip records."""

from collections.abc import Iterable, Sequence

from pipeline_check.reading.block import Block
from pipeline_check.rules.catalog import block_finding
from pipeline_check.rules.finding import Finding
from pipeline_check.rules.fixes import client_fix

# What becomes effective where nothing is set.
JAVA = {
    "enable.auto.commit": "true",
    "isolation.level": "read_uncommitted",
    "auto.offset.reset": "latest",
}
DEFAULTS = {
    "java": JAVA,
    "kafka-python": JAVA,
    "aiokafka": JAVA,
    "spring": JAVA | {"enable.auto.commit": "false"},  # its listeners commit themselves, since 2.3
    "spring-container": JAVA | {"enable.auto.commit": "false"},  # the same
    "spark": JAVA | {"enable.auto.commit": "false", "auto.offset.reset": "none"},  # it forces both
    "smallrye": JAVA | {"enable.auto.commit": "false"},  # its connector commits itself
    "sarama": {
        "enable.auto.commit": "false",  # it commits what was marked as handled
        "isolation.level": "read_uncommitted",
        "auto.offset.reset": "latest",
    },
    "franz-go": {
        "enable.auto.commit": "false",  # it commits what was polled before the last poll
        "isolation.level": "read_uncommitted",
        "auto.offset.reset": "earliest",
    },
    "kafka-go": {
        "enable.auto.commit": "false",
        "isolation.level": "read_uncommitted",
        "auto.offset.reset": "earliest",
    },
    "kafkajs": {
        "enable.auto.commit": "false",  # it commits what its handler has returned from
        "isolation.level": "read_committed",
        "auto.offset.reset": "latest",
    },
    "librdkafka": {
        "enable.auto.commit": "true",
        "isolation.level": "read_committed",
        "auto.offset.reset": "largest",
    },
}
SESSION_TIMEOUTS = {  # ms
    "librdkafka": 45_000,
    "java": 45_000,
    "spring": 45_000,
    "spring-container": 45_000,
    "smallrye": 45_000,
    "kafka-python": 45_000,
    "aiokafka": 10_000,
}
DECISIVE = ["enable.auto.commit", "auto.offset.reset"]  # with wrong values, records are lost
AT_THE_END = {"latest", "largest", "end"}
SHORTEST_INTERVAL = 30_000  # ms: less than a database's restart, in the middle of a batch
CLASSIC_ONLY = (  # settings that the new group protocol does not take
    "session.timeout.ms",
    "heartbeat.interval.ms",
    "partition.assignment.strategy",
    "group.protocol.type",
)


def find_in_consumers(blocks: Sequence[Block]) -> Iterable[Finding]:
    """Check every consumer."""
    aborted = any(is_transactional(block) for block in blocks)
    for block in blocks:
        if block.kind != "consumer":
            continue
        refused = list(refused_settings(block))
        yield from refused or find_in_consumer(block)
        if aborted and not refused:
            yield from isolation(block)


def is_transactional(block: Block) -> bool:
    """Return whether a producer, a worker or Streams writes in transactions, which may abort."""
    settings = block.settings
    if block.kind == "consumer":
        return False
    names = {name.rpartition("transactional")[2] for name in settings if "transactional" in name}
    has_id = bool(names & {".id", "_id"})
    asks = [settings.get("exactly.once.source.support"), settings.get("processing.guarantee")]
    return has_id or any(each and each.text.startswith(("enabled", "exactly")) for each in asks)


def find_in_consumer(block: Block) -> Iterable[Finding]:
    """Check one consumer."""
    yield from unseen_settings(block)
    yield from auto_commit(block)
    yield from offset_reset(block)
    yield from poll_interval(block)
    yield from spark_source(block)


def effective(block: Block, name: str) -> str:
    """Return what is set, or the default; nothing where the value comes from somewhere else."""
    spelling = spelling_in(block, name)
    if spelling in block.settings:
        return (block.known(spelling) or "").lower()
    if block.opaque:
        return ""
    return DEFAULTS[block.client].get(name, "")


def spelling_in(block: Block, name: str) -> str:
    """Return the name of a setting as this client spells it."""
    return name if name in block.settings else name.replace(".", "_")


def unseen_settings(block: Block) -> Iterable[Finding]:
    """Report settings that cannot be seen here, and so are not judged."""
    sources = set()
    for name in JAVA:
        setting = block.settings.get(name)
        if setting and not setting.known:
            sources.add(f"the value of {name} comes from {setting.source}")
    if block.opaque and not decides_itself(block):
        sources.add(f"its settings come from {block.opaque}")
    if sources:
        yield block_finding(
            block,
            "consumer-not-seen",
            says="; ".join(sorted(sources)),
            fix="audit the file that has them, or check them by hand",
        )


def decides_itself(block: Block) -> bool:
    """Return whether what matters most is set here, whatever else comes from somewhere else."""
    decisive = ["failOnDataLoss"] if block.client == "spark" else DECISIVE
    return all(spelling_in(block, name) in block.settings for name in decisive)


def auto_commit(block: Block) -> Iterable[Finding]:
    """Report offsets that are committed by the clock.

    That is harmless where they are stored by hand, and where there is no group.
    """
    stored_by_hand = effective(block, "enable.auto.offset.store") == "false"
    named_group = "group.id" in block.settings or "group_id" in block.settings
    is_written = spelling_in(block, "enable.auto.commit") in block.settings
    has_group = named_group or is_written or block.client == "librdkafka"
    commits = effective(block, "enable.auto.commit") in ("true", "1", "t")
    if commits and has_group and not stored_by_hand:
        yield block_finding(
            block,
            "consumer-auto-commit",
            at=spelling_in(block, "enable.auto.commit"),
            says="enable.auto.commit=true becomes effective",
            fix=client_fix(block, {"enable.auto.commit": "false"}),
        )


def offset_reset(block: Block) -> Iterable[Finding]:
    """Report a group without offsets that starts at the end."""
    value = effective(block, "auto.offset.reset")
    if value in AT_THE_END:
        yield block_finding(
            block,
            "consumer-skips-history",
            at=spelling_in(block, "auto.offset.reset"),
            says=f"auto.offset.reset={value} becomes effective",
            fix=client_fix(block, {"auto.offset.reset": "earliest"}),
        )


def isolation(block: Block) -> Iterable[Finding]:
    """Report a consumer that reads the records of aborted transactions."""
    if effective(block, "isolation.level") == "read_uncommitted":
        yield block_finding(
            block,
            "consumer-reads-aborted",
            at=spelling_in(block, "isolation.level"),
            says="isolation.level=read_uncommitted becomes effective",
            fix=client_fix(block, {"isolation.level": "read_committed"}),
        )


def poll_interval(block: Block) -> Iterable[Finding]:
    """Report too little time for a batch, or less than the session, which some clients refuse."""
    name = "max.poll.interval.ms"
    interval = effective(block, name)
    if not interval.isdigit():
        return
    session = effective(block, "session.timeout.ms")
    least = int(session) if session.isdigit() else SESSION_TIMEOUTS.get(block.client, 0)
    classic_librdkafka = (
        block.client == "librdkafka" and effective(block, "group.protocol") != "consumer"
    )
    if classic_librdkafka and int(interval) < least:
        yield block_finding(
            block,
            "consumer-refused",
            at=spelling_in(block, name),
            says=f"{name}={interval} is less than session.timeout.ms={least}",
            fix=client_fix(block, {name: "300000"}),
        )
    elif int(interval) < SHORTEST_INTERVAL:
        yield block_finding(
            block,
            "consumer-poll-interval",
            at=spelling_in(block, name),
            says=f"{name}={interval} is all the time that a batch has",
            fix=client_fix(block, {name: "300000"}),
        )


def refused_settings(block: Block) -> Iterable[Finding]:
    """Report settings of the classic group protocol that the new one does not take."""
    if block.client != "librdkafka":
        return
    if "group.id" not in block.settings and not block.opaque:
        yield block_finding(
            block,
            "consumer-refused",
            says="group.id is not set, and librdkafka's consumers need one",
            fix=client_fix(block, {"group.id": "orders"}),
        )
    if effective(block, "group.protocol") != "consumer":
        return
    for name in CLASSIC_ONLY:
        if name in block.settings:
            yield block_finding(
                block,
                "consumer-refused",
                at=name,
                says=f"{name} cannot be set when group.protocol=consumer",
                fix=f"remove {name}",
            )


def spark_source(block: Block) -> Iterable[Finding]:
    """Report a source that goes on when records are gone."""
    if block.client == "spark" and effective(block, "failOnDataLoss") == "false":
        yield block_finding(
            block,
            "spark-source-skips",
            at="failOnDataLoss",
            says="failOnDataLoss=false",
            fix='.option("failOnDataLoss", "true")',
        )
