"""Digests: what the two sides of a hop add up to in each bucket of ids, to judge where they differ.

Most ids are as they should be, and need no look of their own.
"""

from collections.abc import Callable, Iterable, Sequence, Set
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import DataFrame

from spark.hops import Hop, Rows, Side
from spark.judging.outcome import REJECTED, as_dicts
from spark.rows.frames import Frames, query
from spark.statements import read_statements

STATEMENTS = read_statements(Path(__file__).with_suffix(".sql"))
IDS_IN_A_BUCKET = 256  # one that must be judged takes the others along
ADDED = ("in", "out", "duplicates_removed", "rejected", "dead_letters", "matched")
COUNTED = "expected_offset"  # made from ranges, and so each position once

Row = dict[str, Any]
RowsOf = Callable[[Set[str]], DataFrame]  # the rows of the hops with these names


class Digests(NamedTuple):
    """What digests leave to judge, and what they have found out."""

    differing: DataFrame  # the buckets of each hop whose sides do not agree
    counts: list[Row]  # of each hop: what is in the other buckets, where all is matched


class WayIn(NamedTuple):
    """Rows of a frame that go in, by their id."""

    frame: str
    id: str
    when: str


def count_buckets(ids: int) -> int:
    """Return how many buckets a hop with so many ids has."""
    return ids // IDS_IN_A_BUCKET + 1


def find_repeats(frames: Frames, hops: Sequence[Hop]) -> DataFrame:
    """Return hashes of the ids that go into a hop more than once.

    What goes into several hops by the same ids is looked at once.
    """
    ways_in = {way_into(hop) for hop in hops}
    repeats = [find_repeats_of(frames, ways) for ways in sorted(ways_in) if may_repeat(ways)]
    return reduce(DataFrame.union, repeats)


def may_repeat(ways: Sequence[WayIn]) -> bool:
    """Return whether an id may go in twice: not if nothing goes in, nor if it counts offsets."""
    frames = [way.frame for way in ways]
    return frames not in ([], [COUNTED])


def way_into(hop: Hop) -> tuple[WayIn, ...]:
    """Return what goes into a hop."""
    ins = [rows for rows in hop.sides if rows.side is Side.IN]
    return tuple(WayIn(rows.frame, rows.id, rows.when) for rows in ins)


def find_repeats_of(frames: Frames, ways: Sequence[WayIn]) -> DataFrame:
    """Return hashes of the ids that are there more than once."""
    hashes = [hash_ids(frames[way.frame], way) for way in ways]
    all_hashes = reduce(DataFrame.union, hashes)
    counted = all_hashes.groupBy("first_id").count()
    return counted.where("count > 1").select("first_id")


def hash_ids(frame: DataFrame, way: WayIn) -> DataFrame:
    """Return the hash of each id, as digests have it."""
    with_id = frame.where(f"({way.when}) and ({way.id}) is not null")
    return with_id.selectExpr(f"xxhash64(1, string({way.id})) as first_id")


def hash_row(names: Sequence[str], hop: Hop, rows: Rows) -> str:
    """Return Spark SQL for what digests need of a row of a hop, which is one of these names."""
    return STATEMENTS["hashed"].format(
        hop=number_of(names, hop),
        side=f"'{rows.side}'",
        id=f"string({rows.id})",
        effect=f"string({rows.effect})",
        fingerprint=f"string({rows.fingerprint})",
        problem=rows.problem,
        source=f"string({rows.source})",
        weight=hop.weight(rows),
        rejected=f"'{REJECTED}'",
    )


def number_of(names: Sequence[str], hop: Hop) -> str:
    """Return Spark SQL for the place of a row's hop among these names."""
    if not hop.name_of_row:
        return f"bigint({names.index(hop.name)})"
    list_of_names = ", ".join(f"'{name}'" for name in names)
    return STATEMENTS["number"].format(names=list_of_names, name=hop.name_of_row)


def digest(
    hashed: DataFrame,
    names: Sequence[str],
    repeats: DataFrame,
    open_source: DataFrame,
    buckets: int,
) -> Digests:
    """Return the buckets of each hop that must be judged id by id, and the counts of all others."""
    rows = {"hashed": hashed, "open_source": open_source}
    digests = query(STATEMENTS["digest"], rows, names="\n".join(names), buckets=buckets)
    digests.persist()
    repeated = query(STATEMENTS["repeated"], {"repeats": repeats}, buckets=buckets)
    differing = query(STATEMENTS["differing"], {"digests": digests, "repeated": repeated})
    differing.persist()
    counts = as_dicts(query(STATEMENTS["counts"], {"digests": digests, "differing": differing}))
    return Digests(differing, counts)


def rows_to_judge(differing: DataFrame, rows_of: RowsOf, buckets: int) -> DataFrame:
    """Return the rows in the buckets that differ; hops without such a bucket are not read again."""
    hops = differing.select("hop").distinct().collect()
    names = {row.hop for row in hops}
    frames = {"differing": differing, "hops": rows_of(names)}
    return query(STATEMENTS["suspects"], frames, buckets=buckets)


def add_counts(judged: Iterable[Row], others: Iterable[Row]) -> list[Row]:
    """Return the counts of each hop: of the ids that were judged, and of all others."""
    of_hop = {row["hop"]: row for row in others}
    for row in judged:
        other = of_hop.get(row["hop"], {})
        added = {name: row[name] + other.get(name, 0) for name in ADDED}
        of_hop[row["hop"]] = row | added
    return list(of_hop.values())
