"""The bytes on a topic of the user's own cluster: who writes there, and is each batch idempotent; it only reads."""

import json
from datetime import UTC, datetime
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource  # type: ignore[attr-defined]  # no __all__

from lab.prove.batches import NOBODY, Writer, writers
from lab.prove.columns import columns
from lab.prove.fetch import read
from lab.prove.partitions import SECONDS, places
from ops.progress import step
from ops.stack.supervisor import StackError

SHOWN = 30  # rows: about a screen
Seen = list[
    tuple[int, tuple[int, int], Writer]
]  # partition, producer id and epoch, what it wrote there


def look(bootstrap: str, topic: str, newest: int, *, as_json: bool) -> int:
    """Print who wrote the newest records of each partition, and the verdict: 0 idempotent, 1 not, 2 nothing there."""
    if not (bootstrap and topic):
        raise StackError(
            "--bootstrap and --topic belong together: which topic of which cluster to look at"
        )
    seen: Seen = []
    with step(f"look at the newest {newest:,} offsets of each partition of {topic}") as note:
        for place in places(bootstrap, topic, newest):
            note(f"partition {place.partition} from {place.first} to {place.end}")
            seen += [(place.partition, *one) for one in sorted(writers(read(place)).items())]
    code, verdict = judge(topic, seen, lawful=is_compacted(bootstrap, topic))
    found = [row(*one) for one in seen]
    document = {"topic": topic, "verdict": verdict, "writers": found}
    print(json.dumps(document) if as_json else "\n".join([*lines(found), f"verdict: {verdict}"]))
    return code


def is_compacted(bootstrap: str, topic: str) -> bool:
    """Whether old records are taken out from between others; who may not ask takes it that they are not."""
    admin = AdminClient(
        {"bootstrap.servers": bootstrap, "log_level": 0}
    )  # must live until the answer is there
    asked = ConfigResource(ConfigResource.Type.TOPIC, topic)
    try:
        found = admin.describe_configs([asked])[asked].result(SECONDS)
    except KafkaException:
        return False
    return "compact" in str(found["cleanup.policy"].value)


def judge(topic: str, seen: Seen, *, lawful: bool) -> tuple[int, str]:
    """Every batch must have a producer id, and none may leave a gap."""
    batches = sum(writer.batches for _, _, writer in seen)
    nobody = sum(writer.batches for _, who, writer in seen if who == NOBODY)
    gaps = [f"partition {partition} {gap}" for partition, _, writer in seen for gap in writer.gaps]
    if not batches:
        return 2, f"nothing to look at: {topic} is empty"
    if nobody:
        return (
            1,
            f"NOT idempotent: {nobody:,} of {batches:,} batches carry no producer id, a retry would be a duplicate",
        )
    if gaps and not lawful:
        return (
            1,
            f"{len(gaps):,} gaps in the sequence: {'; '.join(gaps[:3])}{' …' * (len(gaps) > 3)}",
        )
    due = (
        "a sequence (with gaps, as compaction leaves them)" if gaps else "the sequence that was due"
    )
    return 0, f"idempotent: each of {batches:,} batches carries a producer id, an epoch and {due}"


def row(partition: int, who: tuple[int, int], writer: Writer) -> dict[str, Any]:
    """One writer on one partition, for a program."""
    last = datetime.fromtimestamp(writer.written / 1000, UTC).isoformat(timespec="seconds")
    known = {
        "partition": partition,
        "producer_id": who[0],
        "epoch": who[1],
        "batches": writer.batches,
    }
    return known | {
        "records": writer.records,
        "gaps": len(writer.gaps),
        "first_offset": writer.first,
        "last": last,
    }


def lines(writers: list[dict[str, Any]]) -> list[str]:
    """The same for people, those without a producer id first, as many as one reads."""
    shown = sorted(writers, key=lambda row: row["producer_id"] >= 0)[:SHOWN]
    more = [f"and {len(writers) - SHOWN:,} more: --json has all"] if len(writers) > SHOWN else []
    heads = [[name.replace("_", " ") for name in row] for row in shown[:1]]
    return (
        [*columns([*heads, *([str(cell) for cell in row.values()] for row in shown)]), *more]
        if shown
        else []
    )
