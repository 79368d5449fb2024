"""The bytes on a topic of the user's own cluster: who writes there, and how."""

import json
from datetime import UTC, datetime
from typing import Any, NamedTuple

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource  # type: ignore[attr-defined]  # no __all__

from lab.prove.batches import NOBODY, Writer, find_writers
from lab.prove.columns import align_columns
from lab.prove.fetch import read
from lab.prove.partitions import SECONDS, find_spans
from ops.progress import step
from ops.stack.supervisor import StackError

MOST_ROWS = 30  # about a screen
MOST_GAPS = 3


class Seen(NamedTuple):
    """What one producer id wrote to one partition in one epoch."""

    partition: int
    identity: tuple[int, int]  # producer id and epoch
    writer: Writer


def look(bootstrap: str, topic: str, newest: int, *, as_json: bool) -> int:
    """Print who wrote the newest records of each partition, and the verdict; only read.

    Return 0 for idempotent, 1 for not, 2 for an empty topic.
    """
    if not (bootstrap and topic):
        raise StackError(
            "--bootstrap and --topic belong together: which topic of which cluster to look at"
        )
    seen: list[Seen] = []
    with step(f"look at the newest {newest:,} offsets of each partition of {topic}") as note:
        for span in find_spans(bootstrap, topic, newest):
            note(f"partition {span.partition} from {span.first} to {span.end}")
            for identity, writer in sorted(find_writers(read(span)).items()):
                seen.append(Seen(span.partition, identity, writer))
    code, verdict = judge(topic, seen, gaps_allowed=is_compacted(bootstrap, topic))
    rows = [as_row(one) for one in seen]
    if as_json:
        print(json.dumps({"topic": topic, "verdict": verdict, "writers": rows}))
    else:
        print("\n".join([*lines(rows), f"verdict: {verdict}"]))
    return code


def is_compacted(bootstrap: str, topic: str) -> bool:
    """Return whether old records are removed from between others; no if we may not ask."""
    # The client must live until the answer is there.
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    try:
        config = admin.describe_configs([resource])[resource].result(SECONDS)
    except KafkaException:
        return False
    return "compact" in str(config["cleanup.policy"].value)


def judge(topic: str, seen: list[Seen], *, gaps_allowed: bool) -> tuple[int, str]:
    """Return the exit code and the verdict: every batch needs a producer id and no gap before."""
    batches = 0
    without_id = 0
    gaps = []
    for partition, identity, writer in seen:
        batches += writer.batches
        if identity == NOBODY:
            without_id += writer.batches
        gaps += [f"partition {partition} {gap}" for gap in writer.gaps]
    if not batches:
        return 2, f"nothing to look at: {topic} is empty"
    if without_id:
        counted = f"{without_id:,} of {batches:,} batches carry no producer id"
        return 1, f"NOT idempotent: {counted}, a retry would be a duplicate"
    if gaps and not gaps_allowed:
        more = " …" if len(gaps) > MOST_GAPS else ""
        shown = "; ".join(gaps[:MOST_GAPS])
        return 1, f"{len(gaps):,} gaps in the sequence: {shown}{more}"
    sequence = "the sequence that was due"
    if gaps:
        sequence = "a sequence (with gaps, as compaction leaves them)"
    carried = f"a producer id, an epoch and {sequence}"
    return 0, f"idempotent: each of {batches:,} batches carries {carried}"


def as_row(seen: Seen) -> dict[str, Any]:
    """Return one writer on one partition, for a program."""
    producer_id, epoch = seen.identity
    writer = seen.writer
    last = datetime.fromtimestamp(writer.written / 1000, UTC)
    return {
        "partition": seen.partition,
        "producer_id": producer_id,
        "epoch": epoch,
        "batches": writer.batches,
        "records": writer.records,
        "gaps": len(writer.gaps),
        "first_offset": writer.first,
        "last": last.isoformat(timespec="seconds"),
    }


def lines(rows: list[dict[str, Any]]) -> list[str]:
    """Return the same for people: writers without an id first, and no more than one reads."""
    if not rows:
        return []
    without_id_first = sorted(rows, key=lambda row: row["producer_id"] >= 0)
    head = [name.replace("_", " ") for name in rows[0]]
    cells = [[str(cell) for cell in row.values()] for row in without_id_first[:MOST_ROWS]]
    shown = align_columns([head, *cells])
    left = len(rows) - MOST_ROWS
    if left > 0:
        shown.append(f"and {left:,} more: --json has all")
    return shown
