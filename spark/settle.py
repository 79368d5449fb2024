"""Settled means positions, not clocks: everything up to a moment has come as far as it will ever come."""

import time
from collections.abc import Callable, Mapping
from functools import reduce

from confluent_kafka.admin import AdminClient
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from spark.landing import EARLIEST, LATEST, Position
from spark.positions import offsets
from spark.session import give_up
from spark.sources import ORDERS

POLL_SECONDS = 0.5


def wait(deadline: float, behind: Callable[[], str]) -> None:
    """Look until nothing is behind any more; at the deadline, end with what was."""
    while sentence := behind():
        if time.monotonic() > deadline:
            give_up(f"not settled: {sentence}")
        time.sleep(POLL_SECONDS)


def hold(frames: Mapping[str, DataFrame]) -> dict[str, DataFrame]:
    """Read everything now, in one job: nothing of it is read again later."""
    held = {name: frame.persist() for name, frame in frames.items()}
    reduce(DataFrame.unionByName, (frame.select(F.lit(1).alias("row")) for frame in held.values())).count()
    return held


def offsets_now(admin: AdminClient, partitions: list[Position]) -> dict[Position, range]:
    """What each topic holds. The ends of orders are asked last: the record behind each event lies below."""
    begins = offsets(admin, partitions, EARLIEST)
    ends = offsets(admin, [at for at in partitions if at[0] != ORDERS], LATEST)
    ends |= offsets(admin, [at for at in partitions if at[0] == ORDERS], LATEST)
    return {at: range(begins[at], ends[at]) for at in partitions}


def landing_behind(landed: Mapping[Position, range], must: Mapping[Position, range]) -> str:
    """A sentence while a partition has not landed up to its end."""
    for (topic, partition), offsets_there in must.items():
        reached = landed.get((topic, partition), offsets_there[:0]).stop
        if reached < offsets_there.stop:
            return f"{topic}/{partition} has landed up to {reached} of {offsets_there.stop}: is land running?"
    return ""
