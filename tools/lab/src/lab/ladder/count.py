"""What is at each hop when all is settled: how much of it twice, how much of it not at all."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from contract.names import INPUT_TOPIC
from lab.environment import connect_as_admin
from lab.ladder.steps import OUTBOX, POST
from lab.ladder.topics import EVENTS, id_in_header, id_in_value
from ops.topic import read


class Hop(NamedTuple):
    """How many extra copies there are, and how many orders have no copy."""

    doubled: int
    lost: int


def count_hops(
    env: Mapping[str, str],
    step: int,
    message_ids: Sequence[str],
) -> dict[str, Hop]:
    """Count at every place where an order leaves its mark."""
    servers = env["KAFKA_BOOTSTRAP_SERVERS"]
    fulfillments = "fulfillment" if step >= OUTBOX else "ladder.fulfillment"
    if step >= POST:
        entries = read_ids(env, "AUDIT_DATABASE_URL", "audit_entry")
    else:
        entries = read_ids(env, "DATABASE_URL", "ladder.audit_entry")
    found = {
        "orders": map(id_in_header, read(servers, INPUT_TOPIC)),
        "rows": read_ids(env, "DATABASE_URL", fulfillments),
        "events": map(id_in_value, read(servers, EVENTS)),
        "audit entries": entries,
    }
    return {name: compare(message_ids, ids) for name, ids in found.items()}


def compare(wanted: Sequence[str], found: Iterable[str]) -> Hop:
    """Compare with what should be there: each wanted id once, and nothing else."""
    counted = Counter(found)
    strangers = sorted(counted.keys() - set(wanted))
    assert not strangers, f"nobody sent these: {strangers[:5]}"
    return Hop(
        doubled=counted.total() - len(counted),
        lost=len(set(wanted)) - len(counted),
    )


def read_ids(env: Mapping[str, str], database: str, table: str) -> list[str]:
    """Return the message id of each row."""
    query = f"select message_id from {table}"  # noqa: S608 - names of ours
    with connect_as_admin(dict(env), database) as admin:
        return [message_id for (message_id,) in admin.execute(query.encode())]


def last_moment(env: Mapping[str, str]) -> float:
    """Return when the last event was published, in seconds since 1970."""
    events = read(env["KAFKA_BOOTSTRAP_SERVERS"], EVENTS)
    moments = [event.timestamp()[1] / 1000 for event in events]
    return max(moments, default=0.0)
