"""What is there at each hop when all is settled: how much of it twice, and how much of it not at all."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from lab.bench.place import administer
from lab.ladder.steps import OUTBOX, POST
from lab.ladder.topics import EVENTS, of_header, of_value
from ops.produce import TOPIC
from ops.topic import read


class Hop(NamedTuple):
    """Copies too many, and orders of which there is no copy."""

    doubled: int
    lost: int


def hops(env: Mapping[str, str], step: int, message_ids: Sequence[str]) -> dict[str, Hop]:
    """Every place that an order leaves its mark in."""
    rows = "fulfillment" if step >= OUTBOX else "ladder.fulfillment"
    where, entries = (
        ("AUDIT_DATABASE_URL", "audit_entry")
        if step >= POST
        else ("DATABASE_URL", "ladder.audit_entry")
    )
    found = {
        "orders": (of_header(record) for record in read(env["KAFKA_BOOTSTRAP_SERVERS"], TOPIC)),
        "rows": column(env, "DATABASE_URL", rows),
        "events": (of_value(record) for record in read(env["KAFKA_BOOTSTRAP_SERVERS"], EVENTS)),
        "audit entries": column(env, where, entries),
    }
    return {name: compare(message_ids, ids) for name, ids in found.items()}


def compare(wanted: Sequence[str], found: Iterable[str]) -> Hop:
    """Each wanted id should be there once, and nothing else."""
    counted = Counter(found)
    assert counted.keys() <= set(wanted), (
        f"whose are these? {sorted(counted.keys() - set(wanted))[:5]}"
    )
    return Hop(sum(counted.values()) - len(counted), len(set(wanted)) - len(counted))


def column(env: Mapping[str, str], database: str, table: str) -> list[str]:
    """The message id of each row."""
    with administer(dict(env), database) as admin:
        return [row[0] for row in admin.execute(f"select message_id from {table}".encode())]  # noqa: S608 - ours


def last_moment(env: Mapping[str, str]) -> float:
    """When the last event was published."""
    return max(
        (record.timestamp()[1] / 1000 for record in read(env["KAFKA_BOOTSTRAP_SERVERS"], EVENTS)),
        default=0.0,
    )
