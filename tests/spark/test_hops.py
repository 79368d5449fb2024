"""Reconciliation on a small world: each defect is found in its hop, and nothing else is found."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from pyspark.sql import DataFrame, SparkSession

from contract.events import ACCEPTED, REASONS, Event
from contract.names import AUDIT_TOPIC, DEAD_LETTER_TOPIC, INPUT_TOPIC
from contract.pulse import PULSE_TOPIC
from spark.hops import (
    AUDIT_ENTRY_TO_OUTBOX,
    DEAD_LETTER_TO_OUTBOX,
    FORGOTTEN_TO_LANDED,
    LEDGER_TO_OUTCOME,
    OUTBOX_TO,
    RETIRED_ENTRY_TO_LANDED,
    RETIRED_LETTER_TO_LANDED,
    RETIRED_TO_DECISION,
    RETIRED_TO_LANDED,
    TOPICS_TO_LANDED,
    TRACKING_TO_AUDIT_ENTRY,
    TRACKING_TO_AUDIT_MARK,
    TRACKING_TO_DECISION,
    TRACKING_TO_OUTBOX,
    input_to_tracking,
    ledger_to_input,
)
from spark.judging.outcome import count_outcomes, first_findings, late_partitions
from spark.lake.losses import Loss
from spark.reporting.report import COUNTS
from spark.rows.snapshot import OTHER_VALUE
from tests.spark.world import (
    DECIDING,
    FULFILLMENTS,
    LAGGING,
    NEXT_TRANSACTION,
    REJECTIONS,
    SETTLED,
    World,
)

HANDLED = input_to_tracking(INPUT_TOPIC)
GOOD_PULSE = "1764150000000-0123456789ab"
LEDGER = ledger_to_input(INPUT_TOPIC)
TO_FULFILLMENTS = f"{OUTBOX_TO}{FULFILLMENTS}"
TO_AUDIT = f"{OUTBOX_TO}{AUDIT_TOPIC}"
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
    return {(HANDLED, position, "duplicate"), (LEDGER_TO_OUTCOME, position, "different")}


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
    world.find("tracking", message_id=message_id)["position"] = f"{INPUT_TOPIC}/7/7"
    return {(HANDLED, f"{INPUT_TOPIC}/7/7", "extra")}


def fulfillment_removed(world: World, message_id: str) -> Found:
    """A fulfillment row is gone."""
    world.fulfill(message_id)
    world.remove("fulfillment", message_id=message_id)
    return {(TRACKING_TO_DECISION, message_id, "missing")}


def fulfillment_altered(world: World, message_id: str) -> Found:
    """A fulfillment row and its event disagree by a cent."""
    world.fulfill(message_id)
    world.find("fulfillment", message_id=message_id)["compared"] = "24.21"
    return {(TRACKING_TO_DECISION, message_id, "different")}


def fulfillment_of_another_value(world: World, message_id: str) -> Found:
    """A fulfillment row and tracking know the message by two values."""
    world.fulfill(message_id)
    world.find("fulfillment", message_id=message_id)["problem"] = OTHER_VALUE
    return {(TRACKING_TO_DECISION, message_id, "different")}


def rejection_removed(world: World, message_id: str) -> Found:
    """A rejection whose row is gone, although the service had written such rows before."""
    world.reject(f"earlier-{message_id}", fulfilled_by=None)
    world.reject(message_id, fulfilled_by=None)
    world.remove("rejection", message_id=message_id)
    return {(TRACKING_TO_DECISION, message_id, "missing")}


def rejection_altered(world: World, message_id: str) -> Found:
    """A rejection row that gives another reason than its event."""
    world.reject(message_id, fulfilled_by=None)
    world.find("rejection", message_id=message_id)["reason"] = "bad weather"
    return {(TRACKING_TO_DECISION, message_id, "different")}


def rejection_of_another_value(world: World, message_id: str) -> Found:
    """A rejection row and tracking know the message by two values."""
    world.reject(message_id, fulfilled_by=None)
    world.find("rejection", message_id=message_id)["problem"] = OTHER_VALUE
    return {(TRACKING_TO_DECISION, message_id, "different")}


def rejection_from_nowhere(world: World, message_id: str) -> Found:
    """A rejection row of a message that was never handled."""
    world.reject(f"real-{message_id}", fulfilled_by=None)
    row = world.find("rejection", message_id=f"real-{message_id}")
    other = {"message_id": message_id, "source": f"message {message_id}"}
    world.tables["rejection"].append(row | other)
    return {(TRACKING_TO_DECISION, message_id, "extra")}


def fulfilled_and_rejected(world: World, message_id: str) -> Found:
    """A message that was both fulfilled and rejected, each with its event."""
    position = world.fulfill(message_id)
    payload = {"message_id": message_id, "order_id": f"o-{message_id}", "fulfilled_by": message_id}
    payload["reason"] = REASONS[0]
    world.publish(f"no-{message_id}", REJECTIONS, f"o-{message_id}", payload, audited="rejected")
    both = {
        (TRACKING_TO_DECISION, message_id, "duplicate"),
        (TRACKING_TO_OUTBOX, message_id, "duplicate"),
    }
    return both | {
        (TRACKING_TO_AUDIT_ENTRY, message_id, "different"),
        (LEDGER_TO_OUTCOME, position, "different"),
    }


def rejected_for_nobody(world: World, message_id: str) -> Found:
    """A rejection of an order that nobody fulfilled is a lost order."""
    world.reject(message_id, fulfilled_by=f"nobody-{message_id}")
    return {(TRACKING_TO_DECISION, message_id, "different")}


def rejected_for_another(world: World, message_id: str) -> Found:
    """A rejection that names another message than the one that fulfilled the order."""
    world.fulfill(f"first-{message_id}")
    world.reject(message_id, fulfilled_by=f"first-{message_id}")
    world.find("outbox", event_id=f"event-{message_id}")["fulfilled_by"] = "somebody else"
    return {(TRACKING_TO_DECISION, message_id, "different")}


def rejected_for_no_reason(world: World, message_id: str) -> Found:
    """A rejection for a reason that the contract does not have."""
    world.reject(message_id, fulfilled_by=None, reason="bad weather")
    return {(TRACKING_TO_DECISION, message_id, "different")}


def event_never_written(world: World, message_id: str) -> Found:
    """A message without an outbox row: its event has no origin, and its outcome is unknown."""
    position = world.fulfill(message_id)
    world.remove("outbox", event_id=f"event-{message_id}")
    event = (TO_FULFILLMENTS, f"event-{message_id}", "extra")
    return {
        (TRACKING_TO_OUTBOX, message_id, "missing"),
        event,
        (LEDGER_TO_OUTCOME, position, "missing"),
    }


def two_event_ids(world: World, message_id: str) -> Found:
    """Two event ids for one message, both published."""
    world.fulfill(message_id)
    row = world.find("outbox", event_id=f"event-{message_id}")
    world.tables["outbox"].append(row | {"event_id": f"twin-{message_id}"})
    copy(world, message_id, event_id=f"twin-{message_id}")
    return {(TRACKING_TO_OUTBOX, message_id, "duplicate")}


def event_never_published(world: World, message_id: str) -> Found:
    """An outbox row whose event is on no topic."""
    world.fulfill(message_id)
    world.tables["landed"].remove(world.landed_event(f"event-{message_id}"))
    world.ends[FULFILLMENTS, 0] -= 1  # it was the last on its topic, which is shorter now
    return {(TO_FULFILLMENTS, f"event-{message_id}", "missing")}


def event_altered(world: World, message_id: str) -> Found:
    """An event that differs by one byte from its outbox row."""
    world.fulfill(message_id)
    alter(world, f"event-{message_id}", b"24.20", b"24.21")
    return {(TO_FULFILLMENTS, f"event-{message_id}", "different")}


def event_key_altered(world: World, message_id: str) -> Found:
    """An event under another key: its sequence among the others is lost."""
    world.fulfill(message_id)
    world.landed_event(f"event-{message_id}")["key"] = b"another"
    return {(TO_FULFILLMENTS, f"event-{message_id}", "different")}


def event_from_nowhere(world: World, message_id: str) -> Found:
    """An event without an outbox row, of a message that is settled."""
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
    event = (f"{OUTBOX_TO}{DEAD_LETTER_TOPIC}", f"event-{position}", "extra")
    return {(DEAD_LETTER_TO_OUTBOX, position, "missing"), event}


def dead_letter_of_another_without_event(world: World, message_id: str) -> Found:
    """What another subscriber could not take, and has not told: it is not told by our letter."""
    position = world.order(message_id, b"poison")
    world.bury(position)
    world.bury(position, subscriber="another")
    letter = f"{position}/another"
    world.remove("outbox", event_id=f"event-{letter}")
    event = (f"{OUTBOX_TO}{DEAD_LETTER_TOPIC}", f"event-{letter}", "extra")
    return {(DEAD_LETTER_TO_OUTBOX, letter, "missing"), event}


def audit_entry_missing(world: World, message_id: str) -> Found:
    """A message without an audit entry; the entry's event is left over."""
    world.fulfill(message_id)
    world.remove("audit_entry", message_id=message_id)
    return {
        (TRACKING_TO_AUDIT_ENTRY, message_id, "missing"),
        (AUDIT_ENTRY_TO_OUTBOX, f"entry-key-{message_id}", "extra"),
    }


def audit_entry_doubled(world: World, message_id: str) -> Found:
    """Two audit entries for one message, each with its event."""
    world.fulfill(message_id)
    body = world.find("audit_entry", message_id=message_id)["audited"]
    world.audit(message_id, f"o-{message_id}", f"twin-{message_id}", body)
    return {(TRACKING_TO_AUDIT_ENTRY, message_id, "duplicate")}


def audit_entry_altered(world: World, message_id: str) -> Found:
    """An audit entry with another total than the event."""
    world.fulfill(message_id)
    world.find("audit_entry", message_id=message_id)["audited"] = "1.00"
    return {(TRACKING_TO_AUDIT_ENTRY, message_id, "different")}


def audit_event_from_nowhere(world: World, message_id: str) -> Found:
    """The same of an entry that was not put aside: nothing in the outbox was published."""
    world.fulfill(message_id)
    world.remove("outbox", event_id=f"audit-event-key-{message_id}")
    return {
        (AUDIT_ENTRY_TO_OUTBOX, f"entry-key-{message_id}", "missing"),
        (TO_AUDIT, f"audit-event-key-{message_id}", "extra"),
    }


def audit_refused(world: World, message_id: str) -> Found:
    """The audit receiver has refused the entry for good."""
    world.fulfill(message_id)
    world.find("tracking", message_id=message_id)["audit_error"] = "422: another body"
    return {(TRACKING_TO_AUDIT_ENTRY, message_id, "different")}


def audit_not_marked(world: World, message_id: str) -> Found:
    """Below the committed offset, and not marked as audited."""
    world.fulfill(message_id)
    world.find("tracking", message_id=message_id)["marked"] = False
    return {(TRACKING_TO_AUDIT_MARK, message_id, "missing")}


def landed_row_removed(world: World, message_id: str) -> Found:
    """A record that is on the topic and not in its table: its effects have no origin."""
    position = world.fulfill(message_id)
    offset = int(position.rsplit("/", 1)[1])
    world.remove("landed", topic=INPUT_TOPIC, partition=0, offset=offset)
    return {
        (TOPICS_TO_LANDED, position, "missing"),
        (LEDGER, position, "missing"),
        (HANDLED, position, "extra"),
    }


def landed_row_doubled(world: World, message_id: str) -> Found:
    """One offset landed twice."""
    position = world.fulfill(message_id)
    row = world.find(
        "landed", topic=INPUT_TOPIC, partition=0, offset=int(position.rsplit("/", 1)[1])
    )
    world.tables["landed"].append(dict(row))
    return {(TOPICS_TO_LANDED, position, "duplicate")}


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
    position = f"{INPUT_TOPIC}/{LAGGING}/999999"
    return {(LEDGER, position, "missing"), (LEDGER_TO_OUTCOME, position, "missing")}


def other_way_than_meant(world: World, message_id: str) -> Found:
    """The producer meant it to be rejected, and it was fulfilled."""
    position = world.fulfill(message_id)
    world.find("ledger", message_id=message_id)["expected"] = "rejected"
    return {(LEDGER_TO_OUTCOME, position, "different")}


def alter(world: World, event_id: str, old: bytes, new: bytes) -> None:
    """Change what has landed of an event."""
    event = world.landed_event(event_id)
    event["value"] = event["value"].replace(old, new)


def copy(world: World, message_id: str, event_id: str) -> None:
    """The event of a message on its topic once more."""
    event = world.landed_event(f"event-{message_id}")
    world.record(event["topic"], event["key"].decode(), event["value"], {"id": event_id})


def put_aside(world: World, message_id: str) -> None:
    """Let the service ask the audit receiver again for the entry of this message."""
    tracked = world.find("tracking", message_id=message_id)
    tracked |= {"marked": False, "audit_source": f"unaudited {message_id}"}


def not_taken_yet_and_event_never_written(world: World, message_id: str) -> Found:
    """An entry that is not taken yet makes its message late in no other hop."""
    found = event_never_written(world, message_id)
    put_aside(world, message_id)
    return found


def pulse(world: World, message_id: str) -> Found:
    """It only measures the way: nothing comes of it but its event."""
    position = world.order(message_id, b"a pulse", pulse=GOOD_PULSE)
    source = f"record {position}"
    world.publish(f"event-{position}", PULSE_TOPIC, position, {}, source=source)
    return set()


def pulse_that_was_not_published(world: World, message_id: str) -> Found:
    """Its event is in the outbox alone."""
    pulse(world, message_id)
    event = world.tables["outbox"][-1]
    world.unpublish(PULSE_TOPIC)
    return {(f"{OUTBOX_TO}{PULSE_TOPIC}", event["event_id"], "missing")}


def nearly_a_pulse(world: World, message_id: str) -> Found:
    """A record with a header of that name and another value is a message like any other."""
    position = world.order(message_id, pulse="72 a minute")
    return {(HANDLED, position, "missing")}


DEFECTS: list[Plant] = [
    lost_order, conflict_in_silence, tracked_and_buried, tracked_with_another_hash,
    buried_other_bytes, tracked_from_nowhere, fulfillment_removed, fulfillment_altered,
    fulfillment_of_another_value, rejection_removed, rejection_altered, rejection_of_another_value,
    rejection_from_nowhere, fulfilled_and_rejected, rejected_for_nobody, rejected_for_another,
    rejected_for_no_reason, event_never_written, two_event_ids, event_never_published,
    event_altered, event_key_altered, event_from_nowhere, dead_letter_without_event,
    dead_letter_of_another_without_event, audit_entry_missing,
    audit_entry_doubled, audit_entry_altered, audit_event_from_nowhere, audit_refused,
    audit_not_marked, landed_row_removed, landed_row_doubled, acknowledged_and_altered,
    acknowledged_and_lost, other_way_than_meant, not_taken_yet_and_event_never_written,
    nearly_a_pulse, pulse_that_was_not_published,
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


def rejected_without_a_winner(world: World, message_id: str) -> Found:
    """A rejection for a reason that has no winner: nobody need have fulfilled the order."""
    world.reject(message_id, fulfilled_by=None)
    return set()


def rejected_before_there_were_rows(world: World, message_id: str) -> Found:
    """An event from before the service wrote such rows, that no revision has found."""
    world.reject(message_id, fulfilled_by=None)
    world.remove("rejection", message_id=message_id)
    world.find("outbox", event_id=f"event-{message_id}")["written_by"] = None
    return set()


def buried(world: World, message_id: str) -> Found:
    """Poison, and a conflict: dead letters, each with its event."""
    world.fulfill(message_id)
    world.bury(world.order(message_id, b"another order", expected="dead_letter"), b"another order")
    world.bury(world.order("", b"poison"))
    return set()


def buried_with_known_bytes(world: World, message_id: str) -> Found:
    """The value of a tracked message in a record that is a dead letter for its headers."""
    world.fulfill(message_id)
    world.bury(world.order(message_id), b"an order")
    return set()


def buried_by_another(world: World, message_id: str) -> Found:
    """An order that we have handled and that another subscriber could not take."""
    world.bury(world.fulfill(message_id), b"an order", subscriber="another")
    return set()


def lagging(world: World, message_id: str) -> Found:
    """Handled after the committed offsets were read: all of it is late, nothing is lost."""
    world.fulfill(message_id, LAGGING)
    return set()


def lagging_and_not_tracked_yet(world: World, message_id: str) -> Found:
    """Handled after the snapshot: audited and published, with no row in the snapshot."""
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


def not_taken_yet(world: World, message_id: str) -> Found:
    """The audit receiver has not taken the entry yet, and is asked again: late in these hops."""
    world.fulfill(message_id, is_audited=False)
    put_aside(world, message_id)
    return set()


def taken_after_the_snapshot(world: World, message_id: str) -> Found:
    """Sent again, and its event published, after the databases were read: the entry is late."""
    world.fulfill(message_id)
    put_aside(world, message_id)
    world.remove("audit_entry", message_id=message_id)
    world.remove("outbox", event_id=f"audit-event-key-{message_id}")
    return set()


def lagging_pulse(world: World, message_id: str) -> Found:
    """Published after the databases were read: its event has landed, and its row is not there."""
    position = world.order(message_id, b"a pulse", partition=LAGGING, pulse=GOOD_PULSE)
    world.publish(f"event-{position}", PULSE_TOPIC, position, {}, source=f"record {position}")
    world.remove("outbox", event_id=f"event-{position}")
    return set()


def parked(world: World, message_id: str) -> Found:
    """It waits behind a dead letter of its key."""
    world.park(world.order(message_id, expected=ACCEPTED))
    return set()


LAWFUL: list[Plant] = [
    redelivered, published_twice, rejected, rejected_without_a_winner,
    rejected_before_there_were_rows, buried, buried_with_known_bytes, buried_by_another, lagging,
    lagging_and_not_tracked_yet, lagging_dead_letter, lagging_first_and_settled_redelivery,
    settled_and_lagging_redelivery, not_taken_yet, taken_after_the_snapshot, parked, pulse,
    lagging_pulse,
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
    return {(row["hop"], row["id"], row["outcome"]) for row in first_findings(spoiled[0])}


@pytest.mark.parametrize("plant", DEFECTS, ids=lambda plant: plant.__name__)
def test_reconcile_finds(
    plant: Plant, spoiled: tuple[DataFrame, dict[str, Found]], found: Found
) -> None:
    """Each planted defect is found by its id, in the hop where it happened, with its outcome."""
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
    hops = {
        row["hop"]: {name: row[name] for name in [*COUNTS, "matched"] if row[name]}
        for row in count_outcomes(world.judged(spark))
    }
    assert hops[LEDGER] == {"in": 9, "out": 9, "matched": 9}
    assert hops[LEDGER_TO_OUTCOME] == {"in": 8, "out": 8, "matched": 8, "late": 1}
    assert hops[TOPICS_TO_LANDED] == {"in": 25, "out": 25, "matched": 25}
    assert hops[HANDLED] == {
        "in": 9,
        "out": 7,
        "duplicates_removed": 2,
        "dead_letters": 2,
        "matched": 9,
        "late": 1,
    }
    assert hops[TRACKING_TO_DECISION] == {"in": 5, "out": 5, "rejected": 1, "matched": 5, "late": 1}
    assert hops[TO_FULFILLMENTS] == {
        "in": 4,
        "out": 4,
        "duplicates_removed": 1,
        "matched": 4,
        "late": 1,
    }
    assert hops[DEAD_LETTER_TO_OUTBOX] == {"in": 2, "out": 2, "matched": 2}
    assert hops[TRACKING_TO_AUDIT_MARK] == {"in": 5, "out": 5, "matched": 5, "late": 1}


def test_what_may_still_come_out_waits(spark: SparkSession) -> None:
    """Late ids that have not come out wait, since the oldest was written; others do not.

    Where a hop has not settled, what has not come out is late. Control: settled, it is missing.
    """
    world = World()
    world.fulfill("good")
    world.order("not handled", partition=LAGGING)
    world.order("not audited", partition=LAGGING)
    world.track("not audited", f"{INPUT_TOPIC}/{LAGGING}/1")
    world.fulfill("not published")
    world.unpublish(FULFILLMENTS)

    judged = world.judged(spark, not_settled=[TO_FULFILLMENTS]).persist()

    waiting = {row["hop"]: row["waiting"] for row in count_outcomes(judged) if row["waiting"]}
    assert waiting == {
        HANDLED: 1,
        TRACKING_TO_AUDIT_ENTRY: 1,
        TO_FULFILLMENTS: 1,
    }
    since = {row["waiting_since"] for row in count_outcomes(judged) if row["waiting"]}
    assert since == {"2026-11-21 10:00:00"}
    assert late_partitions(judged, HANDLED) == [LAGGING]
    assert first_findings(judged) == []
    settled = first_findings(world.judged(spark))
    assert [(row["hop"], row["id"], row["outcome"]) for row in settled] == [
        (TO_FULFILLMENTS, "event-not published", "missing")
    ]


def test_what_is_parked_is_neither_missing_nor_late(spark: SparkSession) -> None:
    """It is open until its turn comes, and then judged like any other; controls: both without it.

    Whoever looks between the handling and the note that it is handled sees it open as well.
    """
    world = World()
    position = world.order("parked", expected=ACCEPTED)
    seen_twice = world.fulfill("seen twice")
    missing = {(HANDLED, "missing"), (LEDGER_TO_OUTCOME, "missing")}
    found = first_findings(world.judged(spark))
    assert {(row["hop"], row["outcome"]) for row in found} == missing
    for place in (position, seen_twice):
        world.park(place)

    judged = world.judged(spark).persist()

    assert first_findings(judged) == []
    [handled] = [row for row in count_outcomes(judged) if row["hop"] == HANDLED]
    assert (handled["in"], handled["late"], handled["parked"]) == (0, 0, 2)
    assert late_partitions(judged, HANDLED) == []
    world.tables["parked"].clear()
    assert len(first_findings(world.judged(spark))) == len(missing)


def test_an_accepted_loss_is_no_finding(spark: SparkSession) -> None:
    """What the service handled before Kafka deleted it, and what nobody knows, need not land.

    Control: before the loss is accepted, it is missing in the lake and extra in the tables.
    """
    world = World()
    world.fulfill("good")
    world.fulfill("handled, then lost")
    position = f"{INPUT_TOPIC}/{SETTLED}/1"
    unknown = world.order("lost before it was known")
    for offset in (1, 2):
        world.remove("landed", topic=INPUT_TOPIC, offset=offset)

    findings = {
        (row["hop"], row["id"], row["outcome"]) for row in first_findings(world.judged(spark))
    }
    assert findings == {
        (LEDGER, position, "missing"),
        (TOPICS_TO_LANDED, position, "missing"),
        (TOPICS_TO_LANDED, unknown, "missing"),
        (HANDLED, position, "extra"),
    }
    world.losses = [Loss(INPUT_TOPIC, SETTLED, 1, 2)]
    assert first_findings(world.judged(spark)) == []


def test_what_was_forgotten_is_no_finding_and_anything_else_is(spark: SparkSession) -> None:
    """Forgotten rows are made again from the lake; one more that is gone is missing all the same.

    The bytes of what was forgotten count too: a record that changes later is found.
    """
    world = World()
    for message_id in ("old", "kept", "lost"):
        world.fulfill(message_id)
    world.reject("rejected", fulfilled_by="old")
    world.order("old")  # a redelivery
    place = world.forget("old", "rejected")
    judged = world.judged(spark).persist()
    assert first_findings(judged) == []
    assert sum(row["late"] for row in count_outcomes(judged)) == 0

    gone = world.find("tracking", message_id="lost")
    world.remove("tracking", message_id="lost")
    findings = {
        (row["hop"], row["id"], row["outcome"]) for row in first_findings(world.judged(spark))
    }
    assert (HANDLED, gone["position"], "missing") in findings
    assert FORGOTTEN_TO_LANDED not in {hop for hop, _, _ in findings}

    world.tables["tracking"].append(gone)
    world.find("landed", topic=INPUT_TOPIC, offset=0)["value"] = b"another order"
    findings = {
        (row["hop"], row["id"], row["outcome"]) for row in first_findings(world.judged(spark))
    }
    assert (FORGOTTEN_TO_LANDED, place, "different") in findings


@pytest.mark.prove
def test_what_was_forgotten_and_lost_in_the_lake_is_not_compared(spark: SparkSession) -> None:
    """Where somebody has accepted a loss, nobody can say any more what was forgotten there.

    That stays so when the records beside it are retired.
    """
    world = World()
    for message_id in ("old", "lost", "last"):
        world.fulfill(message_id)
    place = world.forget("old", "lost", "last")
    world.remove("landed", topic=INPUT_TOPIC, offset=1)
    findings = {(row["hop"], row["id"]) for row in first_findings(world.judged(spark))}
    assert (FORGOTTEN_TO_LANDED, place) in findings

    world.losses = [Loss(INPUT_TOPIC, SETTLED, 1, 1)]
    judged = world.judged(spark)
    findings = {(row["hop"], row["id"]) for row in first_findings(judged)}
    assert (FORGOTTEN_TO_LANDED, place) not in findings
    [counts] = [row for row in count_outcomes(judged) if row["hop"] == FORGOTTEN_TO_LANDED]
    assert (counts["matched"], counts["not_checked"]) == (0, 1)

    world.retire_landed("old", "last")
    [counts] = [
        row for row in count_outcomes(world.judged(spark)) if row["hop"] == FORGOTTEN_TO_LANDED
    ]
    assert (counts["different"], counts["not_checked"]) == (0, 1)


class Retired(NamedTuple):
    """What is found in a world after a retention, and once more after defects."""

    findings: list[dict[str, Any]]
    counts: dict[str, dict[str, Any]]  # by hop
    found: Found
    in_outbox: Found  # what must be found
    in_entries: Found
    in_letters: Found


@pytest.fixture(scope="module")
def retired(spark: SparkSession) -> Retired:
    """One world with every kind of row that retention deletes: judged twice, for three claims."""
    world = World()
    for message_id in ("old", "kept", "no event", "no entry"):
        world.fulfill(message_id)
    world.reject("rejected", fulfilled_by="old")
    world.order("old")  # a redelivery
    old, kept, gone = (world.order(name, b"poison") for name in ("1st", "2nd", "3rd"))
    for letter in (old, kept, gone):
        world.bury(letter)
    world.bury(old, subscriber="another")
    world.retire(FULFILLMENTS, "event-old")
    world.retire(REJECTIONS, "event-rejected")
    world.retire(DEAD_LETTER_TOPIC, f"event-{old}", f"event-{kept}")
    world.retire(AUDIT_TOPIC, "audit-event-key-old", "audit-event-key-no event")
    entries = world.retire_entries("key-old", "key-rejected")
    letters = world.retire_letters(old)
    judged = world.judged(spark).persist()
    findings = first_findings(judged)
    counts = {row["hop"]: row for row in count_outcomes(judged)}

    world.remove("outbox", event_id="event-no event")
    world.landed_event("event-rejected")["value"] = b'{"message_id": "rejected"}'
    world.publish("forged", AUDIT_TOPIC, "o-old", {"message_id": "old"})
    world.remove("outbox", event_id="forged")
    world.remove("audit_entry", idempotency_key="key-no entry")
    alter(world, "audit-event-key-rejected", b"key-rejected", b"key-rejecteD")
    world.remove("dead_letter", letter=gone)
    alter(world, f"event-{old}", b"invalid", b"conflict")
    found = {(row["hop"], row["id"], row["outcome"]) for row in first_findings(world.judged(spark))}
    in_outbox = {
        (RETIRED_TO_LANDED, FULFILLMENTS, "different"),
        (RETIRED_TO_LANDED, REJECTIONS, "different"),
        (TRACKING_TO_DECISION, "rejected", "different"),
        (RETIRED_TO_LANDED, AUDIT_TOPIC, "different"),
    }
    in_entries = {
        (TRACKING_TO_AUDIT_ENTRY, "no entry", "missing"),
        (AUDIT_ENTRY_TO_OUTBOX, "entry-key-no entry", "extra"),
        (RETIRED_ENTRY_TO_LANDED, entries, "different"),
        (AUDIT_ENTRY_TO_OUTBOX, "entry-key-rejected", "extra"),
        (AUDIT_ENTRY_TO_OUTBOX, "entry-key-rejecteD", "missing"),
        (TO_AUDIT, "audit-event-key-rejected", "different"),
    }
    in_letters = {
        (HANDLED, gone, "missing"),
        (DEAD_LETTER_TO_OUTBOX, gone, "extra"),
        (RETIRED_LETTER_TO_LANDED, letters, "different"),
        (RETIRED_TO_LANDED, DEAD_LETTER_TOPIC, "different"),
    }
    return Retired(findings, counts, found, in_outbox, in_entries, in_letters)


def test_what_was_retired_is_no_finding_and_anything_else_is(retired: Retired) -> None:
    """Outbox rows that retention deleted are made again from landed events, and only these.

    One more row that is gone, a forged event, and bytes that changed later are found.
    """
    assert retired.findings == []
    assert retired.counts[RETIRED_TO_LANDED]["matched"] == 4
    assert retired.counts[TRACKING_TO_OUTBOX]["matched"] == 5
    assert retired.counts[TRACKING_TO_OUTBOX]["rejected"] == 0
    assert retired.in_outbox <= retired.found
    assert retired.found == retired.in_outbox | retired.in_entries | retired.in_letters


def test_an_entry_that_was_retired_is_no_finding_and_anything_else_is(retired: Retired) -> None:
    """Audit entries that retention deleted are made again from landed events, and only these.

    One more that is gone is missing, and bytes that changed later are found.
    """
    assert retired.counts[RETIRED_ENTRY_TO_LANDED]["matched"] == 1
    assert retired.counts[TRACKING_TO_AUDIT_ENTRY]["matched"] == 5
    assert retired.counts[AUDIT_ENTRY_TO_OUTBOX]["matched"] == 5
    assert retired.in_entries <= retired.found


def test_a_letter_that_was_retired_is_no_finding_and_anything_else_is(retired: Retired) -> None:
    """Dead letters that retention deleted are made again from landed events, and only these.

    Another subscriber's letter for the same record is none of them. One more that is gone is
    missing, and an event that changed later is found.
    """
    assert retired.counts[RETIRED_LETTER_TO_LANDED]["matched"] == 1
    assert retired.counts[HANDLED]["dead_letters"] == 3
    assert retired.counts[DEAD_LETTER_TO_OUTBOX]["matched"] == 4
    assert retired.in_letters <= retired.found


@pytest.mark.prove
def test_what_was_retired_of_the_lake_is_compared_as_a_whole(spark: SparkSession) -> None:
    """Messages of which only the business's rows are left are no finding, and are counted.

    One of these rows that is gone, an event that is gone in the lake, and a tracking row that is
    gone above what was retired are found. A record that comes again is known by the business's row.
    """
    world = World()
    gone = ("old", "winner", "rejected")
    for message_id in gone[:2]:
        world.fulfill(message_id)
    world.reject("rejected", fulfilled_by="winner")
    world.fulfill("kept")
    world.find("fulfillment", message_id="kept")["written_by"] = NEXT_TRANSACTION
    world.forget(*gone)
    world.retire(FULFILLMENTS, "event-old", "event-winner")
    world.retire(REJECTIONS, "event-rejected")
    world.retire(AUDIT_TOPIC, *(f"audit-event-key-{message_id}" for message_id in gone))
    world.retire_entries(*(f"key-{message_id}" for message_id in gone))
    world.tables["ledger"].clear()
    world.retire_landed(*gone)
    world.order("old")  # a redelivery
    judged = world.judged(spark).persist()
    assert first_findings(judged) == []
    counts = {row["hop"]: row for row in count_outcomes(judged)}
    assert counts[RETIRED_TO_DECISION]["matched"] == 1
    assert counts[TRACKING_TO_DECISION]["in"] == counts[TRACKING_TO_AUDIT_ENTRY]["in"] == 1
    assert counts[HANDLED]["duplicates_removed"] == 1

    world.remove("fulfillment", message_id="old")
    position = world.find("tracking", message_id="kept")["position"]
    world.remove("tracking", message_id="kept")
    found = {(row["hop"], row["id"], row["outcome"]) for row in first_findings(world.judged(spark))}
    assert {
        (RETIRED_TO_DECISION, "messages", "different"),
        (HANDLED, position, "missing"),
        (TRACKING_TO_DECISION, "kept", "extra"),
    } <= found


def test_each_accepted_message_has_exactly_one_further_event(spark: SparkSession) -> None:
    """A further event that is missing or doubled is found in its hop, and is no second effect."""
    further = Event("receipt-issued", "receipt.events", follows=ACCEPTED)
    world = World(events=[*DECIDING, further])

    def issue(message_id: str, event_id: str) -> None:
        payload = {"message_id": message_id}
        world.publish(event_id, further.topic, message_id, payload, event_type=further.event_type)

    for message_id in ("good", "lost", "twice"):
        world.fulfill(message_id)
    world.reject("rejected", fulfilled_by="good")
    issue("good", "receipt-good")
    issue("twice", "receipt-1")
    issue("twice", "receipt-2")
    issue("rejected", "receipt-rejected")

    judged = world.judged(spark).persist()

    name = "fulfilled → receipt-issued"
    findings = {(row["hop"], row["id"], row["outcome"]) for row in first_findings(judged)}
    assert findings == {
        (name, "lost", "missing"),
        (name, "twice", "duplicate"),
        (name, "rejected", "extra"),
    }
    counts = {row["hop"]: row["matched"] for row in count_outcomes(judged)}
    assert counts[name] == 1
    assert counts[TRACKING_TO_OUTBOX] == 4
    assert counts["outbox → receipt.events"] == 4


def test_another_input_topic_is_reconciled_like_the_default(spark: SparkSession) -> None:
    """INPUT_TOPIC renames hops and no more: what was good is good, what was lost is lost."""
    world = World(input_topic="purchase.events")
    for plant in (redelivered, published_twice, rejected, buried, lagging):
        plant(world, plant.__name__)
    lost = world.order("lost")

    judged = world.judged(spark).persist()

    hop = "purchase.events → tracking or dead letter"
    findings = [(row["hop"], row["id"], row["outcome"]) for row in first_findings(judged)]
    assert findings == [(hop, lost, "missing")]
    [counts] = [row for row in count_outcomes(judged) if row["hop"] == hop]
    assert (counts["in"], counts["dead_letters"], counts["late"]) == (10, 2, 1)
    assert "ledger → purchase.events" in {row["hop"] for row in count_outcomes(judged)}
