"""Digests find what a look at each id finds, and count what it counts."""

from collections.abc import Sequence, Set
from functools import partial
from random import Random
from typing import Any

import pytest
from pyspark.errors.exceptions.captured import SparkRuntimeException
from pyspark.sql import DataFrame, SparkSession

from contract.names import AUDIT_TOPIC
from spark.hops import OUTBOX_TO, Hop, comes_out, goes_in, names_of, union_hops
from spark.judging.digest import (
    STATEMENTS,
    add_counts,
    digest,
    find_repeats,
    hash_row,
    number_of,
    rows_to_judge,
)
from spark.judging.outcome import REJECTED, count_outcomes, first_findings, judge
from tests.spark.test_hops import DEFECTS, LAWFUL, redelivered
from tests.spark.world import FULFILLMENTS, World

ID = "id string"
OPEN_SOURCE = "source string, open_as string"
ROW = """hop string, side string, id string, effect string, fingerprint string, problem string,
    source string, written_at string, weight int"""
HOPS = 40
IDS = 12  # in each hop
MANY = 500  # buckets: hardly two ids are in one
Row = dict[str, Any]


def random_hop(hop: str, random: Random) -> list[Row]:
    """The rows of a hop in which most ids are as they should be, and some are anything."""
    weight = random.choice((1, -1))  # of its references
    rows = []
    for number in range(IDS):
        id_ = f"{hop}, id-{number}"
        if random.random() < 0.7:
            rows += [row(hop, "in", id_), row(hop, "out", id_, effect=f"event {id_}")]
            continue
        for _ in range(random.randint(1, 5)):
            side = random.choice(("in", "in", "out", "out", "redelivered", "reference"))
            more: dict[str, Any] = {
                "effect": random.choice(("one", "two", "dead letter", "rejected", None)),
                "fingerprint": random.choice(("a", "a", "b", None)),
                "problem": "it is wrong" if random.random() < 0.05 else None,
                "source": random.choice(("settled", "settled", "settled", "late", "parked")),
            }
            if side != "out":
                more["effect"] = None
            of_side = {"in": 1, "out": -1, "redelivered": -1, "reference": weight}
            rows += [row(hop, side, id_, weight=of_side[side], **more)] * random.choice((1, 1, 2))
    return rows


def row(hop: str, side: str, id_: str, **values: Any) -> Row:
    """A row of a hop; in and out of one id agree."""
    usual = {"effect": None, "fingerprint": "a", "problem": None, "source": "settled"}
    weight = 1 if side == "in" else -1
    return {"hop": hop, "side": side, "id": id_, "written_at": None, "weight": weight} | (
        usual | values
    )


def by_hop(counts: list[Row]) -> dict[str, Row]:
    """The counts of each hop."""
    return {row["hop"]: row for row in counts}


def repeats_in(rows: DataFrame) -> DataFrame:
    """Hashes of the ids that go into a hop more than once."""
    counted = rows.where("side = 'in'").groupBy("hop", "id").count()
    return counted.where("count > 1").selectExpr("xxhash64(1, id) as first_id").distinct()


def compare(
    rows: DataFrame,
    hashed: DataFrame,
    names: Sequence[str],
    repeats: DataFrame,
    open_source: DataFrame,
    *,
    buckets: int,
) -> DataFrame:
    """Assert that digests make no difference to counts and findings; return what they leave."""
    rows, open_source = rows.persist(), open_source.persist()
    whole = judge(rows, open_source).persist()
    differing, others = digest(hashed, names, repeats, open_source, buckets)
    suspects = rows_to_judge(differing, partial(rows_named, rows), buckets)
    part = judge(suspects, open_source).persist()

    counts = add_counts(count_outcomes(part), others)

    assert by_hop(counts) == by_hop(count_outcomes(whole))
    assert sorted_findings(part) == sorted_findings(whole)
    return suspects


def rows_named(rows: DataFrame, names: Set[str]) -> DataFrame:
    """The rows of the hops with these names."""
    return rows.where(rows.hop.isin(names))


def compare_rows(
    spark: SparkSession, rows: list[Row], sources: list[tuple[str, str]], buckets: int
) -> DataFrame:
    """The same for rows of hops."""
    frame = spark.createDataFrame(rows, ROW)
    names = sorted({row["hop"] for row in rows})
    hop = number_of(names, Hop("any", (), name_of_row="hop"))
    columns = {name: name for name in frame.columns} | {"hop": hop}
    row_hash = STATEMENTS["hashed"].format(**columns, rejected=f"'{REJECTED}'")
    hashed = frame.selectExpr(f"inline(array({row_hash}))")
    open_source = spark.createDataFrame(sources, OPEN_SOURCE)
    return compare(frame, hashed, names, repeats_in(frame), open_source, buckets=buckets)


def compare_world(spark: SparkSession, world: World) -> DataFrame:
    """The same for what a run compares."""
    frames, hops, open_source = world.frames_of_hops(spark)
    rows = union_hops(frames, hops)
    published = rows.where(rows.hop.startswith(OUTBOX_TO)).select("hop").distinct().collect()
    names = names_of(hops, [row.hop.removeprefix(OUTBOX_TO) for row in published])
    hashed = union_hops(frames, hops, partial(hash_row, names))
    return compare(rows, hashed, names, find_repeats(frames, hops), open_source, buckets=MANY)


def sorted_findings(judged: DataFrame) -> list[tuple[str, ...]]:
    """Every finding, in one sequence."""
    return sorted(tuple(found.values()) for found in first_findings(judged))


@pytest.mark.parametrize("buckets", [1, MANY])
def test_whatever_the_rows_are_digests_change_nothing(spark: SparkSession, buckets: int) -> None:
    """Rows of random sides, repeats, fingerprints and problems have the same outcomes.

    With one bucket nearly every hop is judged whole; with many, each id is alone in its bucket.
    """
    random = Random(20261123)  # noqa: S311 - the same rows each time
    rows: list[Row] = []
    for number in range(HOPS):
        rows += random_hop(f"hop {number}", random)
    sources = [("late", "late"), ("parked", "parked")]

    suspects = compare_rows(spark, rows, sources, buckets)

    judged = suspects.select("hop", "id").distinct().count()
    total = len({(row["hop"], row["id"]) for row in rows})
    if buckets == MANY:
        assert 0 < judged < total / 2, "it judges what it need not: this proved nothing"


def test_digests_find_every_planted_defect(spark: SparkSession) -> None:
    """A world with every defect and everything that is lawful is judged as without digests."""
    world = World()
    for plant in [*DEFECTS, *LAWFUL]:
        plant(world, plant.__name__)
    compare_world(spark, world)


def test_what_was_retired_needs_no_look_of_its_own(spark: SparkSession) -> None:
    """Digests agree where events were deleted from the outboxes by retention."""
    world = World()
    for number in range(3):
        world.fulfill(f"m-{number}")
    world.retire(FULFILLMENTS, "event-m-0", "event-m-1")
    world.retire(AUDIT_TOPIC, "audit-event-key-m-0")
    suspects = compare_world(spark, world)
    assert suspects.isEmpty()


def test_a_redelivery_needs_no_look_of_its_own(spark: SparkSession) -> None:
    """Digests agree where records were redelivered, and count them.

    The control: a redelivery of a record that was handled, too.
    """
    world = World()
    for number in range(3):
        redelivered(world, f"m-{number}")
    assert compare_world(spark, world).isEmpty()

    rows = [row("hop", "in", "id"), row("hop", "redelivered", "id")]
    also_handled = row("hop", "out", "id", effect="tracking")
    assert compare_rows(spark, rows, [], MANY).isEmpty()
    assert not compare_rows(spark, [*rows, also_handled], [], MANY).isEmpty()


def test_a_row_of_a_hop_without_a_number_is_an_error(spark: SparkSession) -> None:
    """An event of a topic that nobody has named cannot be left out of the digests unseen."""
    hop = Hop("outbox → topic", (), name_of_row="'outbox → ' || topic")
    number = number_of(["outbox → a.events", "outbox → b.events"], hop)
    topics = spark.createDataFrame([("a.events",), ("b.events",)], "topic string")

    numbers = topics.selectExpr(f"{number} as number").collect()
    other = spark.createDataFrame([("c.events",)], "topic string")

    assert [row.number for row in numbers] == [0, 1]
    with pytest.raises(SparkRuntimeException, match=r"no hop is named outbox → c\.events"):
        other.selectExpr(f"{number} as number").collect()


@pytest.mark.parametrize("copies", [1, 2, 4])
def test_extra_copies_do_not_cancel_out(spark: SparkSession, copies: int) -> None:
    """An id that came out once, twice or four times more is judged, however many copies there are.

    The same for one that went in and came out as often: it may have two effects.
    """
    rows: list[Row] = []
    for number in range(100):
        rows += [row("hop", "in", f"id-{number}"), row("hop", "out", f"id-{number}", effect="one")]
    rows += [row("hop", "out", "id-7", effect="another")] * copies
    rows += [row("hop", "in", "id-8"), row("hop", "out", "id-8", effect="another")] * copies

    suspects = compare_rows(spark, rows, [], MANY)

    judged = {suspect.id for suspect in suspects.select("id").distinct().collect()}
    assert {"id-7", "id-8"} <= judged


def test_what_goes_in_twice_is_found_wherever_it_comes_from(spark: SparkSession) -> None:
    """Twice in one frame, or once in each of two that go into one hop; rows without an id are none.

    The control: two hops into which an id goes once each.
    """
    ids = spark.createDataFrame(
        [("once",), ("twice",), ("twice",), ("both",), (None,), (None,)], ID
    )
    frames = {"some": ids, "more": spark.createDataFrame([("both",), ("more",)], ID)}
    some, more = goes_in("some", id="id"), goes_in("more", id="id", when="id != 'once'")

    def found(*hops: Hop) -> set[str]:
        repeats = find_repeats(frames, hops)
        hashed = ids.distinct().selectExpr("id", "xxhash64(1, id) as first_id")
        return {row.id for row in hashed.join(repeats, "first_id").collect()}

    assert found(Hop("hop", (some, more))) == {"twice", "both"}
    only_out = comes_out("more", id="id")
    apart = [Hop("hop", (some,)), Hop("other", (more,)), Hop("third", (only_out,))]
    assert found(*apart) == {"twice"}
