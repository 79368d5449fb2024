"""The other end: what a consumer's settings lose, double or skip."""

from collections.abc import Iterable, Sequence

from pipeline_check.consumer_settings import JAVA, SESSION, at, effective
from pipeline_check.finding import Finding
from pipeline_check.fixes import paste
from pipeline_check.reading.block import Block
from pipeline_check.rules import finding

AT_THE_END = {"latest", "largest", "end"}
SHORTEST_INTERVAL = 30_000  # ms: less than a database's restart, in the middle of a batch


def consumers(blocks: Sequence[Block]) -> Iterable[Finding]:
    """The findings of every consumer."""
    for block in blocks:
        if block.kind == "consumer":
            for check in (
                unseen,
                auto_commit,
                reset,
                isolation,
                poll_interval,
                refused,
                spark_source,
            ):
                yield from check(block)


def unseen(block: Block) -> Iterable[Finding]:
    """Settings that cannot be seen here are not judged, and that is said."""
    names = [name for name in JAVA if (setting := block.settings.get(name)) and not setting.known]
    sources = {f"the value of {name} comes from {block.settings[name].source}" for name in names}
    sources |= {f"its settings come from {block.opaque}"} if block.opaque else set()
    if sources:
        says, fix = (
            "; ".join(sorted(sources)),
            "audit the file that has them, or check them by hand",
        )
        yield finding("consumer-not-seen", block.file, block.line, says, fix)


def auto_commit(block: Block) -> Iterable[Finding]:
    """Offsets committed by the clock; harmless where they are stored by hand, or where there is no group."""
    by_hand = effective(block, "enable.auto.offset.store") == "false"
    group = block.client == "librdkafka" or any(
        name in block.settings for name in ("group.id", "group_id")
    )
    if effective(block, "enable.auto.commit") in ("true", "1", "t") and group and not by_hand:
        says = "enable.auto.commit=true becomes effective"
        fix = paste(block, {"enable.auto.commit": "false"})
        yield finding(
            "consumer-auto-commit", block.file, at(block, "enable.auto.commit"), says, fix
        )


def reset(block: Block) -> Iterable[Finding]:
    """A group without offsets that starts at the end."""
    value = effective(block, "auto.offset.reset")
    if value in AT_THE_END:
        says = f"auto.offset.reset={value} becomes effective"
        fix = paste(block, {"auto.offset.reset": "earliest"})
        yield finding(
            "consumer-skips-history", block.file, at(block, "auto.offset.reset"), says, fix
        )


def isolation(block: Block) -> Iterable[Finding]:
    """Records of aborted transactions are read."""
    if effective(block, "isolation.level") == "read_uncommitted":
        says = "isolation.level=read_uncommitted becomes effective"
        fix = paste(block, {"isolation.level": "read_committed"})
        yield finding("consumer-reads-aborted", block.file, at(block, "isolation.level"), says, fix)


def poll_interval(block: Block) -> Iterable[Finding]:
    """Too little time for a batch, or less than the session, which some clients refuse."""
    interval, session = (
        effective(block, "max.poll.interval.ms"),
        effective(block, "session.timeout.ms"),
    )
    if not interval.isdigit():
        return
    least = int(session) if session.isdigit() else SESSION.get(block.client, 0)
    fix, line = paste(block, {"max.poll.interval.ms": "300000"}), at(block, "max.poll.interval.ms")
    if (
        block.client == "librdkafka"
        and int(interval) < least
        and effective(block, "group.protocol") != "consumer"
    ):
        says = f"max.poll.interval.ms={interval} is less than session.timeout.ms={least}"
        yield finding("consumer-refused", block.file, line, says, fix)
    elif int(interval) < SHORTEST_INTERVAL:
        says = f"max.poll.interval.ms={interval} is all the time that a batch has"
        yield finding("consumer-poll-interval", block.file, line, says, fix)


CLASSIC = (
    "session.timeout.ms",
    "heartbeat.interval.ms",
    "partition.assignment.strategy",
    "group.protocol.type",
)


def refused(block: Block) -> Iterable[Finding]:
    """Settings of the classic protocol that the new one does not take."""
    if effective(block, "group.protocol") == "consumer" and block.client == "librdkafka":
        for name in CLASSIC:
            if name in block.settings:
                says = f"{name} cannot be set when group.protocol=consumer"
                yield finding(
                    "consumer-refused", block.file, block.line_of(name), says, f"remove {name}"
                )


def spark_source(block: Block) -> Iterable[Finding]:
    """A source that goes on when records are gone."""
    if block.client == "spark" and effective(block, "failOnDataLoss") == "false":
        fix = '.option("failOnDataLoss", "true")'
        line = block.line_of("failOnDataLoss")
        yield finding("spark-source-skips", block.file, line, "failOnDataLoss=false", fix)
