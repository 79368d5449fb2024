"""The totals that Spark sums: the service's rule, and every way in which a total can be wrong."""

from typing import Any

from pyspark.sql import SparkSession

from contract.names import INPUT_TOPIC
from extras.aggregator.spark_totals import HOP, part
from extras.aggregator.tests.batches import COMPLETE, Log, expected, item
from spark.judging.outcome import first_findings
from spark.rows.frames import identify_landed, query
from spark.settings import Settings
from spark.topics import topics_to_land
from tests.spark.world import SCHEMAS, SETTLED, World, as_frame

BATCH_SCHEMA = "kind string, place string, offset bigint, event_id string, compared string"


def new_world() -> World:
    """A world that knows of groups."""
    return World(part=part(), part_schemas={"batch": BATCH_SCHEMA})


def send(world: World, key: str, value: bytes, message_id: str = "") -> str:
    """One landed record of batch.events; its position."""
    own = message_id or f"m-{len(world.tables['landed'])}"
    return world.record("batch.events", key, value, {"message_id": own})


def send_batch(world: World, key: str, count: int) -> str:
    """So many items of one unit for 0.10 each, and the completion; where it begins."""
    begin, *_ = [send(world, key, item(1, "0.1")) for _ in range(count)]
    send(world, key, COMPLETE)
    return begin


def note(world: World, kind: str, place: str, **columns: Any) -> None:
    """What Postgres knows."""
    empty = {"offset": None, "event_id": None, "compared": None}
    world.tables["batch"].append({"kind": kind, "place": place, **empty, **columns})


def total(
    world: World, place: str, compared: str, event_id: str = "", kind: str = "batch-totalled"
) -> None:
    """A total that was published."""
    note(world, kind, place, event_id=event_id or f"event {place}", compared=compared)


def right(world: World) -> None:
    """Interleaved groups, copies, poison, completions of nothing, and a second group of a key."""
    first = send(world, "a", item(1, "0.1"), "one")
    other = send(world, "b", item(2, "5"))
    send(world, "a", item(1, "0.1"), "one")
    note(world, "dead letter", send(world, "a", b"{"))
    send(world, "a", item(1, "0.2"))
    send(world, "a", COMPLETE, "end")
    send(world, "a", COMPLETE, "end")
    send(world, "never begun", COMPLETE)
    send(world, "b", COMPLETE)
    second = send_batch(world, "a", 3)
    total(world, first, "a 2 2 0.30")
    total(world, other, "b 1 2 5.00")
    total(world, second, "a 3 3 0.30")


def not_yet(world: World) -> None:
    """A group that is open, one that waits for a replay, and one that is not summed to its end."""
    send(world, "open", item())
    note(world, "open", send_batch(world, "missed", 2))
    unsummed = send_batch(world, "unsummed", 2)
    _, _, first_offset = unsummed.rpartition("/")
    summed_up_to = int(first_offset) + 1
    note(world, "position", f"batch.events/{SETTLED}", offset=summed_up_to)


# What is published of three items of 1 unit for 0.10 each, and what must be found.
WRONG: dict[str, tuple[list[str], str]] = {
    "lost": ([], "missing"),
    "short": (["short 2 3 0.30"], "different"),
    "a cent": (["a cent 3 3 0.31"], "different"),
    "renamed": (["other 3 3 0.30"], "different"),
    "gone": (["gone"], "different"),
    "twice": (["twice 3 3 0.30", "twice 3 3 0.30"], "duplicate"),
}


def test_every_wrong_total_is_found_and_no_other(spark: SparkSession) -> None:
    """Missing, different, doubled, unrecoverable, partial: by the place where the group begins."""
    world = new_world()
    wanted = set[tuple[str, str]]()
    right(world)
    for key, (totals, outcome) in WRONG.items():
        place = send_batch(world, key, 3)
        wanted.add((outcome, place))
        for n, said in enumerate(totals):
            kind = "batch-unrecoverable" if key == "gone" else "batch-totalled"
            total(world, place, said, f"event {place} {n}", kind)
    whole = send_batch(world, "part", 3)
    part = f"batch.events/{SETTLED}/{int(whole.rpartition('/')[2]) + 1}"
    total(world, part, "part 2 2 0.20")
    not_yet(world)
    world.record(INPUT_TOPIC, "never", None, {})
    rows = first_findings(world.judged(spark))
    found = {(row["outcome"], row["id"]) for row in rows if row["hop"] == HOP}
    assert found == wanted | {("missing", whole), ("extra", part)}


def test_the_sums_are_those_of_the_simplest_way(spark: SparkSession) -> None:
    """The same log, summed by Spark and message by message."""
    log = Log("batch.events", first=0)
    world = new_world()
    for n in range(60):
        log.send(
            f"b{n * 7 % 5}",
            COMPLETE if n % 9 == 8 else item(n, f"{n}.{n % 100:02}"),
            f"m{n * n % 50}-{n % 5}",
        )
    for record in log.records:
        send(
            world,
            (record.key or b"").decode(),
            record.value or b"",
            record.header_values("message_id")[0].decode(),
        )
    note(world, "position", f"batch.events/{SETTLED}", offset=len(log.records))
    topics = topics_to_land(Settings(), [part()])
    current = {position: range(end) for position, end in world.ends.items()}
    landed = as_frame(spark, world.tables["landed"], SCHEMAS["landed"])
    batch = as_frame(spark, world.tables["batch"], BATCH_SCHEMA)
    frames = {"landed": identify_landed(landed, current, topics), "batch": batch}
    found = query(part().frames["batch_sum"], frames).collect()
    wanted = {
        (
            "batch.events/0/{offset}".format(**t["begin"]),
            f"{t['batch_id']} {t['items']} {t['units']} {t['amount']}",
        )
        for t in expected(log.records)
    }
    assert {(row["place"], row["compared"]) for row in found} == wanted
    assert len(wanted) > 3
