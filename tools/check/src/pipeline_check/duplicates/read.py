"""Read a topic from a point in time to its present end: in no group, and nothing is written."""

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from pipeline_check.duplicates.identity import Headers, Record

TIMEOUT = 10  # seconds without an answer
PROGRESS_SECONDS = 2
AT_ONCE = 1_000
SINCE = re.compile(r"(\d+)([smhd])")
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
OURS = {  # of a reader that nobody notices
    "group.id": "pipeline-check-duplicates",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "auto.offset.reset": "error",
    "isolation.level": "read_committed",
    "enable.partition.eof": True,
}


class CannotReadError(Exception):
    """A topic that cannot be read, and why."""


def seconds_of(text: str) -> int:
    """Return the seconds of 90s, 15m, 24h or 7d."""
    found = SINCE.fullmatch(text)
    if not found:
        raise CannotReadError(f"--since {text}: say an amount such as 90s, 15m, 24h or 7d")
    return int(found[1]) * SECONDS[found[2]]


def client_settings(bootstrap: str, file: Path | None) -> dict[str, object]:
    """Return the settings of the reader; security and the like come from a file."""
    given: dict[str, object] = {}
    for line in file.read_text(encoding="utf-8").splitlines() if file else []:
        name, equals, value = line.strip().partition("=")
        if equals and not name.startswith("#"):
            given[name.strip()] = value.strip()
    return {**given, **OURS, "bootstrap.servers": bootstrap}


def read_topic(
    settings: dict[str, object], topic: str, since: int | None, tell: Callable[[str], None]
) -> Iterator[Record]:
    """Yield every committed record of a topic up to where it ends now."""
    problems: list[str] = []
    # check: ignore[consumer-not-seen] they are the user's, and OURS is on top of them
    consumer = Consumer({**settings, "error_cb": lambda error: problems.append(error.str())})
    try:
        ends = ends_of(consumer, topic, problems)
        starts = starts_of(consumer, topic, ends, since)
        consumer.assign(starts)
        yield from until_ends(consumer, ends, starts, tell)
    except KafkaException as failure:
        raise CannotReadError(f"{topic}: {failure.args[0].str()}") from None
    finally:
        consumer.close()


def ends_of(consumer: Consumer, topic: str, problems: list[str]) -> dict[int, int]:
    """Return where each partition ends."""
    try:
        known = consumer.list_topics(topic, timeout=TIMEOUT).topics[topic]
    except KafkaException as failure:
        why = problems[-1] if problems else failure.args[0].str()
        raise CannotReadError(f"Kafka does not answer: {why}") from None
    if known.error:
        raise CannotReadError(f"{topic}: {known.error.str()}")
    ends = {}
    for partition in known.partitions:
        _, high = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=TIMEOUT)
        ends[partition] = high
    return {partition: end for partition, end in ends.items() if end}


def starts_of(
    consumer: Consumer, topic: str, ends: dict[int, int], since: int | None
) -> list[TopicPartition]:
    """Return where each partition begins, or where its records of that time do."""
    if since is not None:
        at = int((time.time() - since) * 1000)
        asked = [TopicPartition(topic, partition, at) for partition in ends]
        found = consumer.offsets_for_times(asked, timeout=TIMEOUT)
        return [each for each in found if each.offset >= 0]
    starts = []
    for partition in ends:
        place = TopicPartition(topic, partition)
        low, _ = consumer.get_watermark_offsets(place, timeout=TIMEOUT)
        starts.append(TopicPartition(topic, partition, low))
    return starts


def until_ends(
    consumer: Consumer,
    ends: dict[int, int],
    starts: list[TopicPartition],
    tell: Callable[[str], None],
) -> Iterator[Record]:
    """Yield records until every partition has been read up to its end.

    The last offsets may be markers of transactions, which nobody reads: the position tells.
    """
    open_partitions = {each.partition for each in starts if each.offset < ends[each.partition]}
    read = 0
    told_at = heard_at = time.monotonic()
    while open_partitions:
        messages = consumer.consume(AT_ONCE, timeout=1)
        now = time.monotonic()
        if messages:
            heard_at = now
        elif now - heard_at > TIMEOUT:
            raise CannotReadError(f"no record came for {TIMEOUT} s, after {read:,}")
        for message in messages:
            record = as_record(message)
            if record and record.offset < ends[record.partition]:
                read += 1
                yield record
        positions = consumer.position(
            [TopicPartition(each.topic, each.partition) for each in starts]
        )
        open_partitions -= {
            each.partition for each in positions if each.offset >= ends[each.partition]
        }
        if now - told_at > PROGRESS_SECONDS:
            tell(f"{read:,} records read")
            told_at = now


def as_record(message: Message) -> Record | None:
    """Return what is looked at of a message; nothing at the end of a partition."""
    error = message.error()
    if error:
        if error.code() == KafkaError._PARTITION_EOF:
            return None
        raise KafkaException(error)
    _, timestamp = message.timestamp()
    partition, offset = message.partition(), message.offset()
    assert partition is not None
    assert offset is not None
    headers = cast("Headers", message.headers() or ())
    return Record(partition, offset, timestamp, message.key(), message.value(), headers)
