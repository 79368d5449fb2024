"""The second opinion, on a world in memory: silent when all is right, and never when it is not."""

import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from lab.faults.facts import Facts
from lab.faults.judge import judge
from tools.lab.tests.facts import published, world

SEEDS = range(5)
Mutate = Callable[[Facts, random.Random], Facts]


def change_table(name: str, change: Callable[[list[Any], random.Random], list[Any]]) -> Mutate:
    """Change the rows of one table."""

    def mutate(facts: Facts, rng: random.Random) -> Facts:
        rows = list(getattr(facts.tables, name))
        tables = facts.tables._replace(**{name: change(rows, rng)})
        return facts._replace(tables=tables)

    return mutate


def drop(rows: list[Any], rng: random.Random) -> list[Any]:
    """Take one away."""
    rows.pop(rng.randrange(len(rows)))
    return rows


def double(rows: list[Any], rng: random.Random) -> list[Any]:
    """Have one twice."""
    return [*rows, rng.choice(rows)]


def swap_totals(rows: list[Any], rng: random.Random) -> list[Any]:
    """Give two rows each other's total."""
    with_total = [n for n, row in enumerate(rows) if row.total is not None]
    a, b = rng.sample(with_total, 2)
    total_of_a, total_of_b = rows[a].total, rows[b].total
    rows[a] = rows[a]._replace(total=total_of_b)
    rows[b] = rows[b]._replace(total=total_of_a)
    return rows


def another_transaction(rows: list[Any], rng: random.Random) -> list[Any]:
    """Let one row be written by another transaction."""
    at = rng.randrange(len(rows))
    rows[at] = rows[at]._replace(transaction=701)
    return rows


def change_a_byte(lake: bool) -> Mutate:
    """Change one byte of one event, on its topic or in the lake."""

    def mutate(facts: Facts, rng: random.Random) -> Facts:
        records = list(facts.landed or []) if lake else list(facts.records)
        events = [n for n, one in enumerate(records) if one.value and one.header("id")]
        chosen = rng.choice(events)
        value = bytearray(records[chosen].value or b"")
        place = rng.randrange(len(value))
        value[place] ^= 1
        records[chosen] = records[chosen]._replace(value=bytes(value))
        return facts._replace(landed=records) if lake else facts._replace(records=records)

    return mutate


def skip_an_offset(facts: Facts, rng: random.Random) -> Facts:
    """Commit an offset whose message was never handled."""
    return change_table("tracked", drop)(facts, rng)


def swallow_a_commit(facts: Facts, rng: random.Random) -> Facts:
    """Lose everything that one transaction wrote, after the receiver was told."""
    victim = rng.choice(facts.tables.tracked).message_id
    tables = facts.tables
    return facts._replace(
        tables=tables._replace(
            tracked=[row for row in tables.tracked if row.message_id != victim],
            fulfilled=[row for row in tables.fulfilled if row.message_id != victim],
            events=[row for row in tables.events if f'"{victim}"' not in row.payload],
        )
    )


def publish_a_phantom(facts: Facts, rng: random.Random) -> Facts:
    """Publish an event that no outbox holds."""
    row = rng.choice(facts.tables.events)._replace(event_id="phantom")
    phantom = published(row, 999)
    return facts._replace(records=[*facts.records, phantom], landed=None)


def land_twice(facts: Facts, rng: random.Random) -> Facts:
    """Land a record twice."""
    landed = list(facts.landed or [])
    return facts._replace(landed=[*landed, rng.choice(landed)])


def lose_a_record(facts: Facts, rng: random.Random) -> Facts:
    """Lose an acknowledged record from its topic."""
    place = rng.choice(facts.sent).place
    kept = [one for one in facts.records if one.place != place]
    return facts._replace(records=kept, landed=None)


def stand_still(facts: Facts, _rng: random.Random) -> Facts:
    """Commit less than there is."""
    return facts._replace(committed={0: facts.ends[0] - 1})


MUTANTS: dict[str, tuple[str, Mutate]] = {
    "drop an event": ("I4", change_table("events", drop)),
    "drop an event of the audit": ("I4", change_table("audit_events", drop)),
    "drop a fulfillment": ("I4", change_table("fulfilled", drop)),
    "drop a dead letter": ("I16", change_table("buried", drop)),
    "drop an audit entry": ("I10", change_table("audited", drop)),
    "double a fulfillment": ("I4", change_table("fulfilled", double)),
    "double an event": ("I4", change_table("events", double)),
    "double an audit entry": ("I10", change_table("audited", double)),
    "double a landed row": ("I12", land_twice),
    "swap the values of two": ("I15", change_table("fulfilled", swap_totals)),
    "swap the totals of two entries": ("I15", change_table("audited", swap_totals)),
    "write the effect alone": ("I3", change_table("fulfilled", another_transaction)),
    "change a byte on the topic": ("I8", change_a_byte(lake=False)),
    "change a byte in the lake": ("I15", change_a_byte(lake=True)),
    "skip an offset": ("I2", skip_an_offset),
    "swallow a commit": ("I11", swallow_a_commit),
    "publish a phantom": ("I7", publish_a_phantom),
    "lose an acknowledged record": ("I1", lose_a_record),
    "stand still": ("I17", stand_still),
}


def test_a_clean_world_has_no_finding() -> None:
    """Every kind of sample, handled as it must be."""
    assert judge(world()) == []


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", MUTANTS)
def test_every_mutant_of_a_world_in_memory_is_caught(name: str, seed: int) -> None:
    """Whatever is taken, doubled or changed, one of its findings names the broken invariant."""
    invariant, mutate = MUTANTS[name]
    rng = random.Random(seed)  # noqa: S311 - repeatable, not secret
    found = judge(mutate(world(), rng))
    assert invariant in {finding.invariant for finding in found}


def test_a_second_copy_with_the_same_bytes_is_allowed() -> None:
    """Debezium may publish an event once more."""
    facts = world()
    row = facts.tables.events[0]
    copy = published(row, 999)
    assert judge(facts._replace(records=[*facts.records, copy], landed=None)) == []


def test_an_event_of_an_earlier_run_may_come_again_but_only_with_its_bytes() -> None:
    """A connector that starts again publishes what it had published before the run began."""
    facts = world()
    row = facts.tables.events[0]
    earlier = row._replace(event_id="of an earlier run", seq=0)
    again = published(earlier, 999)
    facts = facts._replace(records=[*facts.records, again], earlier=[earlier], landed=None)
    assert judge(facts) == []
    other = facts._replace(earlier=[earlier._replace(payload="{}")])
    assert [finding.invariant for finding in judge(other)] == ["I8"]


def test_a_sequence_that_was_turned_round_is_found() -> None:
    """Two events of one key come as they were written."""
    facts = world()
    first, second = facts.tables.audit_events[:2]
    events = [first, second._replace(key=first.key)]
    records = [published(row, offset) for offset, row in enumerate(reversed(events), 500)]
    tables = facts.tables._replace(audit_events=events)
    found = judge(facts._replace(tables=tables, records=records, landed=None))
    assert "I9" in {finding.invariant for finding in found}


def test_one_place_with_two_values_is_found() -> None:
    """A place is read twice, and says something else the second time."""
    facts = world()
    again = facts.records[0]._replace(value=b"other")
    found = judge(facts._replace(records=[*facts.records, again], landed=None))
    assert "I27" in {finding.invariant for finding in found}


def test_a_total_is_worked_out_exactly() -> None:
    """Prices are added as decimals."""
    facts = world()
    assert all(isinstance(row.total, Decimal) for row in facts.tables.fulfilled)
