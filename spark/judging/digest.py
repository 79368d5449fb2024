"""Digests: what the two sides of a hop add up to in each bucket of ids, to judge where they differ.

Most ids are as they should be, and need no look of their own.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import DataFrame

from spark.judging.outcome import REJECTED, as_dicts
from spark.rows.frames import query
from spark.statements import read_statements

STATEMENTS = read_statements(Path(__file__).with_suffix(".sql"))
IDS_IN_A_BUCKET = 16  # few, for one that must be judged takes the others along
ADDED = ("in", "out", "rejected", "dead_letters", "matched")

Row = dict[str, Any]


class Digests(NamedTuple):
    """What digests leave to judge, and what they have found out."""

    suspects: DataFrame  # the rows of the buckets that differ
    counts: list[Row]  # of each hop: what is in the other buckets, where all is matched


def count_buckets(ids: int) -> int:
    """Return how many buckets a hop with so many ids has."""
    return ids // IDS_IN_A_BUCKET + 1


def digest(hops: DataFrame, open_source: DataFrame, buckets: int) -> Digests:
    """Return the rows that must be judged id by id, and the counts of all others."""
    rows = {"hops": hops, "open_source": open_source}
    digests = query(STATEMENTS["digest"], rows, buckets=buckets, rejected=REJECTED)
    digests.persist()
    repeated = query(STATEMENTS["repeated"], {"hops": hops}, buckets=buckets)
    differing = query(STATEMENTS["differing"], {"digests": digests, "repeated": repeated})
    differing.persist()
    frames = {"digests": digests, "differing": differing, "hops": hops}
    counts = as_dicts(query(STATEMENTS["counts"], frames))
    suspects = query(STATEMENTS["suspects"], frames, buckets=buckets)
    return Digests(suspects, counts)


def add_counts(judged: Iterable[Row], others: Iterable[Row]) -> list[Row]:
    """Return the counts of each hop: of the ids that were judged, and of all others."""
    of_hop = {row["hop"]: row for row in others}
    for row in judged:
        other = of_hop.get(row["hop"], {})
        added = {name: row[name] + other.get(name, 0) for name in ADDED}
        of_hop[row["hop"]] = row | added
    return list(of_hop.values())
