"""Reconciliation on a small world: each defect is found in its hop, and what is lawful is not found."""

from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark.hops import PATH
from spark.outcome import COUNTED, FIRST
from spark.sources import query
from tests.spark.world import DEAD_LETTERS, FULFILLMENTS, LAGGING, ORDERS, REJECTIONS, World

(
    LEDGER,
    EXPECTED,
    LANDED,
    HANDLED,
    DECIDED,
    TRACKED_OUT,
    BURIED_OUT,
    AUDITED,
    MARKED,
    AUDITED_OUT,
    *_,
) = PATH
PUBLISHED = "outbox → "  # and the topic
TO_FULFILLMENTS = f"{PUBLISHED}{FULFILLMENTS}"
Found = set[tuple[str, str, str]]  # hop, id, outcome
Plant = Callable[
    [World, str], Found
]  # spoils one message of the world, and says what must be found


def lost_order(world: World, message_id: str) -> Found:
    """A record below the committed offset that left no trace."""
    return {(HANDLED, world.order(message_id), "missing")}


def conflict_in_silence(world: World, message_id: str) -> Found:
    """Another value under a known message id, and no dead letter."""
    world.fulfill(message_id)
    return {(HANDLED, world.order(message_id, b"another order"), "missing")}


def tracked_and_buried(world: World, message_id: str) -> Found:
    """Two effects of one record."""
    position = world.fulfill(message_id)
    world.bury(position, b"an order")
    return {(HANDLED, position, "duplicate"), (EXPECTED, position, "different")}


def tracked_with_another_hash(world: World, message_id: str) -> Found:
    """The tracking row speaks of other bytes than the record has."""
    position = world.fulfill(message_id)
    world.find("tracking", message_id=message_id)["sha256"] = "00"
    return {(HANDLED, position, "different")}


def buried_other_bytes(world: World, message_id: str) -> Found:
    """The dead letter's hash is not that of its record."""
    position = world.order(message_id, b"poison")
    world.bury(position, b"medicine")
    return {(HANDLED, position, "different")}


def tracked_from_nowhere(world: World, message_id: str) -> Found:
    """A message that no record has brought."""
    world.fulfill(message_id)
    world.find("tracking", message_id=message_id)["position"] = f"{ORDERS}/7/7"
    return {(HANDLED, f"{ORDERS}/7/7", "extra")}


def fulfillment_removed(world: World, message_id: str) -> Found:
    """A fulfillment row is gone."""
    world.fulfill(message_id)
    world.remove("fulfillment", message_id=message_id)
    return {(DECIDED, message_id, "missing")}


def fulfillment_altered(world: World, message_id: str) -> Found:
    """A fulfillment row and its event disagree by a cent."""
    world.fulfill(message_id)
    world.find("fulfillment", message_id=message_id)["facts"] = "24.21"
    return {(DECIDED, message_id, "different")}


def fulfilled_and_rejected(world: World, message_id: str) -> Found:
    """A message that was both fulfilled and rejected, each with its event."""
    position = world.fulfill(message_id)
    payload = {"message_id": message_id, "order_id": f"o-{message_id}", "fulfilled_by": message_id}
    world.publish(f"no-{message_id}", REJECTIONS, f"o-{message_id}", payload, audit="rejected")
    both = {(DECIDED, message_id, "duplicate"), (TRACKED_OUT, message_id, "duplicate")}
    return both | {(AUDITED, message_id, "different"), (EXPECTED, position, "different")}


def rejected_for_nobody(world: World, message_id: str) -> Found:
    """A rejection of an order that nobody fulfilled is a lost order."""
    world.reject(message_id, fulfilled_by=f"nobody-{message_id}")
    return {(DECIDED, message_id, "different")}


def event_never_written(world: World, message_id: str) -> Found:
    """A message without an outbox row: its event, if there was one, is nobody's, and nobody knows its fate."""
    position = world.fulfill(message_id)
    world.remove("outbox", event_id=f"event-{message_id}")
    event = (TO_FULFILLMENTS, f"event-{message_id}", "extra")
    return {(TRACKED_OUT, message_id, "missing"), event, (EXPECTED, position, "missing")}


def two_event_ids(world: World, message_id: str) -> Found:
    """Two event ids for one message, both published."""
    world.fulfill(message_id)
    row = world.find("outbox", event_id=f"event-{message_id}")
    world.tables["outbox"].append(row | {"event_id": f"twin-{message_id}"})
    copy(world, message_id, event_id=f"twin-{message_id}")
    return {(TRACKED_OUT, message_id, "duplicate")}


def event_never_published(world: World, message_id: str) -> Found:
    """An outbox row whose event is on no topic."""
    world.fulfill(message_id)
    world.remove("landed", headers=[("id", f"event-{message_id}".encode())])
    world.ends[FULFILLMENTS, 0] -= 1  # it was the last on its topic, which is shorter now
    return {(TO_FULFILLMENTS, f"event-{message_id}", "missing")}


def event_altered(world: World, message_id: str) -> Found:
    """An event that differs by one byte from its outbox row."""
    world.fulfill(message_id)
    event = world.find("landed", headers=[("id", f"event-{message_id}".encode())])
    event["value"] = event["value"].replace(b"24.20", b"24.21")
    return {(TO_FULFILLMENTS, f"event-{message_id}", "different")}


def event_key_altered(world: World, message_id: str) -> Found:
    """An event under another key: its sequence among the others is lost."""
    world.fulfill(message_id)
    world.find("landed", headers=[("id", f"event-{message_id}".encode())])["key"] = b"another"
    return {(TO_FULFILLMENTS, f"event-{message_id}", "different")}


def event_from_nowhere(world: World, message_id: str) -> Found:
    """An event that no outbox row stands for, of a message that is settled."""
    world.fulfill(message_id)
    world.record(
        FULFILLMENTS,
        "k",
        f'{{"message_id": "{message_id}"}}'.encode(),
        {"id": f"ghost-{message_id}"},
    )
    return {(TO_FULFILLMENTS, f"ghost-{message_id}", "extra")}


def dead_letter_without_event(world: World, message_id: str) -> Found:
    """A dead letter that never reached the outbox; its event is nobody's."""
    position = world.order(message_id, b"poison")
    world.bury(position)
    world.remove("outbox", event_id=f"event-{position}")
    event = (f"{PUBLISHED}{DEAD_LETTERS}", f"event-{position}", "extra")
    return {(BURIED_OUT, position, "missing"), event}


def audit_entry_missing(world: World, message_id: str) -> Found:
    """A message without an audit entry; the entry's event is left over."""
    world.fulfill(message_id)
    world.remove("audit_entry", message_id=message_id)
    return {(AUDITED, message_id, "missing"), (AUDITED_OUT, f"entry-key-{message_id}", "extra")}


def audit_entry_doubled(world: World, message_id: str) -> Found:
    """Two audit entries for one message, each with its event."""
    world.fulfill(message_id)
    body = world.find("audit_entry", message_id=message_id)["audit"]
    world.audit(message_id, f"o-{message_id}", f"twin-{message_id}", body)
    return {(AUDITED, message_id, "duplicate")}


def audit_entry_altered(world: World, message_id: str) -> Found:
    """An audit entry with another total than the event."""
    world.fulfill(message_id)
    world.find("audit_entry", message_id=message_id)["audit"] = "1.00"
    return {(AUDITED, message_id, "different")}


def audit_refused(world: World, message_id: str) -> Found:
    """The audit receiver has refused the entry for good."""
    world.fulfill(message_id)
    world.find("tracking", message_id=message_id)["audit_error"] = "422: another body"
    return {(AUDITED, message_id, "different")}


def audit_not_marked(world: World, message_id: str) -> Found:
    """Below the committed offset, and not marked as audited."""
    world.fulfill(message_id)
    world.find("tracking", message_id=message_id)["marked"] = False
    return {(MARKED, message_id, "missing")}


def landed_row_removed(world: World, message_id: str) -> Found:
    """A record that is on the topic and not in its table: what became of it has no origin any more."""
    position = world.fulfill(message_id)
    offset = int(position.rsplit("/", 1)[1])
    world.remove("landed", topic=ORDERS, partition=0, offset=offset)
    return {
        (LANDED, position, "missing"),
        (LEDGER, position, "missing"),
        (HANDLED, position, "extra"),
    }


def landed_row_doubled(world: World, message_id: str) -> Found:
    """One offset landed twice."""
    position = world.fulfill(message_id)
    row = world.find("landed", topic=ORDERS, partition=0, offset=int(position.rsplit("/", 1)[1]))
    world.tables["landed"].append(dict(row))
    return {(LANDED, position, "duplicate")}


def acknowledged_and_altered(world: World, message_id: str) -> Found:
    """Another value on the topic than the producer saw acknowledged."""
    position = world.fulfill(message_id)
    world.find("ledger", message_id=message_id)["value_sha256"] = "00"
    return {(LEDGER, position, "different")}


def acknowledged_and_lost(world: World, message_id: str) -> Found:
    """Acknowledged, and beyond the end of the topic: the broker lost it."""
    world.order(message_id, partition=LAGGING, expected="fulfilled")
    line = world.find("ledger", message_id=message_id)
    line["offset"] = 999_999
    position = f"{ORDERS}/{LAGGING}/999999"
    return {(LEDGER, position, "missing"), (EXPECTED, position, "missing")}


def other_way_than_meant(world: World, message_id: str) -> Found:
    """The producer meant it to be rejected, and it was fulfilled."""
    position = world.fulfill(message_id)
    world.find("ledger", message_id=message_id)["expected"] = "rejected"
    return {(EXPECTED, position, "different")}


def copy(world: World, message_id: str, event_id: str) -> None:
    """The event of a message on its topic once more."""
    event = world.find("landed", headers=[("id", f"event-{message_id}".encode())])
    world.record(event["topic"], event["key"].decode(), event["value"], {"id": event_id})


DEFECTS: list[Plant] = [
    lost_order, conflict_in_silence, tracked_and_buried, tracked_with_another_hash, buried_other_bytes,
    tracked_from_nowhere, fulfillment_removed, fulfillment_altered, fulfilled_and_rejected,
    rejected_for_nobody, event_never_written, two_event_ids, event_never_published, event_altered,
    event_key_altered, event_from_nowhere, dead_letter_without_event, audit_entry_missing,
    audit_entry_doubled, audit_entry_altered, audit_refused, audit_not_marked, landed_row_removed,
    landed_row_doubled, acknowledged_and_altered, acknowledged_and_lost, other_way_than_meant,
]  # fmt: skip


def redelivered(world: World, message_id: str) -> Found:
    """The same message three times: one effect, two duplicates removed."""
    world.fulfill(message_id)
    world.order(message_id, expected="fulfilled")
    world.order(message_id, expected="fulfilled")
    return set()


def published_twice(world: World, message_id: str) -> Found:
    """A second copy of an event, with the same id, key and bytes."""
    world.fulfill(message_id)
    copy(world, message_id, event_id=f"event-{message_id}")
    return set()


def rejected(world: World, message_id: str) -> Found:
    """A second message for an order that is fulfilled."""
    world.fulfill(f"first-{message_id}")
    world.reject(message_id, fulfilled_by=f"first-{message_id}")
    return set()


def buried(world: World, message_id: str) -> Found:
    """Poison, and a conflict: dead letters, each with its event."""
    world.fulfill(message_id)
    world.bury(world.order(message_id, b"another order", expected="dead_letter"), b"another order")
    world.bury(world.order("", b"poison"))
    return set()


def buried_with_known_bytes(world: World, message_id: str) -> Found:
    """The value of a tracked message in a record that is a dead letter for another reason, its headers say."""
    world.fulfill(message_id)
    world.bury(world.order(message_id), b"an order")
    return set()


def lagging(world: World, message_id: str) -> Found:
    """Handled after the committed offsets were read: everything of it is late, nothing of it is lost."""
    world.fulfill(message_id, LAGGING)
    return set()


def lagging_and_not_tracked_yet(world: World, message_id: str) -> Found:
    """Handled after the snapshot: audited and published, with no row in the databases as they were."""
    world.fulfill(message_id, LAGGING)
    for table in ("tracking", "fulfillment"):
        world.remove(table, message_id=message_id)
    world.remove("outbox", event_id=f"event-{message_id}")
    return set()


def lagging_dead_letter(world: World, message_id: str) -> Found:
    """Buried after the snapshot: its event has no outbox row yet."""
    position = world.order(message_id, b"poison", LAGGING)
    world.bury(position)
    world.remove("dead_letter", position=position)
    world.remove("outbox", event_id=f"event-{position}")
    return set()


def lagging_first_and_settled_redelivery(world: World, message_id: str) -> Found:
    """Tracked from a record that is not committed, while its redelivery on another partition is."""
    world.fulfill(message_id, LAGGING)
    world.order(message_id)
    return set()


def settled_and_lagging_redelivery(world: World, message_id: str) -> Found:
    """Settled long ago; a record of it above the committed offsets does not make it late."""
    world.order(message_id, partition=LAGGING)
    return event_from_nowhere(world, message_id)


LAWFUL: list[Plant] = [
    redelivered, published_twice, rejected, buried, buried_with_known_bytes, lagging,
    lagging_and_not_tracked_yet, lagging_dead_letter, lagging_first_and_settled_redelivery,
    settled_and_lagging_redelivery,
]  # fmt: skip


@pytest.fixture(scope="module")
def spoiled(spark: SparkSession) -> tuple[DataFrame, dict[str, Found]]:
    """One world with every case, each on a message of its own: judged once, as a run judges it."""
    world = World()
    wanted = {plant.__name__: plant(world, plant.__name__) for plant in [*DEFECTS, *LAWFUL]}
    return world.judged(spark).persist(), wanted


@pytest.fixture(scope="module")
def found(spoiled: tuple[DataFrame, dict[str, Found]]) -> Found:
    """Every finding in that world."""
    return {
        (row["hop"], row["id"], row["outcome"])
        for row in query(FIRST, {"judged": spoiled[0]}).collect()
    }


@pytest.mark.parametrize("plant", DEFECTS, ids=lambda plant: plant.__name__)
def test_reconcile_finds(
    plant: Plant, spoiled: tuple[DataFrame, dict[str, Found]], found: Found
) -> None:
    """Each planted defect is found by its id, in the hop where it happened, as the outcome that it is."""
    assert spoiled[1][plant.__name__] <= found


def test_reconcile_finds_nothing_else(
    spoiled: tuple[DataFrame, dict[str, Found]], found: Found
) -> None:
    """Lawful repeats, rejections, dead letters and everything late are no findings."""
    assert found == set().union(*spoiled[1].values())


def test_reconcile_of_a_clean_world_counts_every_hop(spark: SparkSession) -> None:
    """What went in is what came out, what was removed as a duplicate, or what is late."""
    world = World()
    for plant in (redelivered, published_twice, rejected, buried, lagging):
        plant(world, plant.__name__)
    rows = query(COUNTED, {"judged": world.judged(spark)}).collect()
    hops = {
        row["hop"]: {name: row[name] for name in row.asDict() if row[name] and name != "hop"}
        for row in rows
    }
    assert hops[LEDGER] == {"in": 9, "out": 9, "matched": 9}
    assert hops[EXPECTED] == {"in": 8, "out": 8, "matched": 8, "late": 1}
    assert hops[LANDED] == {"in": 25, "out": 25, "matched": 25}
    assert hops[HANDLED] == {
        "in": 9,
        "out": 7,
        "duplicates_removed": 2,
        "dead_letters": 2,
        "matched": 9,
        "late": 1,
    }
    assert hops[DECIDED] == {"in": 5, "out": 5, "rejected": 1, "matched": 5, "late": 1}
    assert hops[TO_FULFILLMENTS] == {
        "in": 4,
        "out": 4,
        "duplicates_removed": 1,
        "matched": 4,
        "late": 1,
    }
    assert hops[BURIED_OUT] == {"in": 2, "out": 2, "matched": 2}
    assert hops[MARKED] == {"in": 5, "out": 5, "matched": 5, "late": 1}
