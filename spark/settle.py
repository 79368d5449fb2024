"""Settled means positions, not clocks: everything up to a moment has come as far as it will ever come."""

import time
from collections.abc import Callable, Mapping
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark.landing import Position
from spark.session import give_up

POLL_SECONDS = 0.5


def wait(deadline: float, behind: Callable[[], str]) -> None:
    """Look until nothing is behind any more; at the deadline, end with what was."""
    while sentence := behind():
        if time.monotonic() > deadline:
            give_up(f"not settled: {sentence}")
        time.sleep(POLL_SECONDS)


def hold(frames: Mapping[str, DataFrame]) -> dict[str, DataFrame]:
    """Read everything in one job, and keep it."""
    held = {name: frame.persist() for name, frame in frames.items()}
    reduce(DataFrame.unionByName, (frame.select(F.lit(1).alias("row")) for frame in held.values())).count()
    return held


def landing_behind(landed: Mapping[Position, range], there: Mapping[Position, range]) -> str:
    """A sentence while a partition has not landed up to its end."""
    for (topic, partition), kept in there.items():
        reached = landed.get((topic, partition), kept[:0]).stop
        if reached < kept.stop:
            return f"{topic}/{partition} has landed up to {reached} of {kept.stop}: is land running?"
    return ""
