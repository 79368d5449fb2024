"""Records that Kafka deleted before they landed: landing stops until a person accepts the loss."""

import re
from argparse import ArgumentTypeError
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from pyspark.sql import SparkSession

from spark.kafka.positions import Position
from spark.session import exit_with_error, locate, make_frame

FORM = "TOPIC/PARTITION:FROM-TO"
SCHEMA = "topic string, partition int, first bigint, last bigint, accepted_at timestamp"


class Loss(NamedTuple):
    """Offsets of a partition that are gone."""

    topic: str
    partition: int
    first: int
    last: int  # it is gone, too

    def __str__(self) -> str:
        """Return it as it is named on the command line."""
        return f"{self.topic}/{self.partition}:{self.first}-{self.last}"


class Accepted(NamedTuple):
    """A loss, and when somebody accepted it."""

    loss: Loss
    at: datetime

    def describe(self) -> str:
        """Return what every report says of it."""
        loss = self.loss
        count = loss.last - loss.first + 1
        return f"{loss}, {count:,} offsets, accepted {self.at:%Y-%m-%d %H:%M:%S} UTC"


def parse_loss(text: str) -> Loss:
    """Return what --accept-loss names."""
    match = re.fullmatch(r"([\w.@-]+)/(\d+):(\d+)-(\d+)", text)
    refusal = ArgumentTypeError(f"{text} is not {FORM}, such as order.events/0:5-7")
    if match is None:
        raise refusal
    topic, *numbers = match.groups()
    partition, first, last = map(int, numbers)
    if last < first:
        raise refusal
    return Loss(topic, partition, first, last)


def find_losses(reached: Mapping[Position, int], begins: Mapping[Position, int]) -> list[Loss]:
    """Return what is gone between where landing has come to and what Kafka still has."""
    losses = []
    for (topic, partition), first in reached.items():
        begin = begins.get((topic, partition), first)
        if first < begin:
            losses.append(Loss(topic, partition, first, begin - 1))
    return sorted(losses)


def refuse_losses(losses: Iterable[Loss]) -> None:
    """End the job if anything is lost, with what it is and what to do."""
    names = [str(loss) for loss in losses]
    if names:
        gone = ", ".join(names)
        options = " ".join(f"--accept-loss {name}" for name in names)
        exit_with_error(
            f"Kafka deleted records before they landed: {gone}. Nothing lands until somebody has"
            f" looked for them elsewhere and accepts it: land {options}"
        )


def refuse_others(named: Iterable[Loss], losses: Sequence[Loss]) -> None:
    """End the job if one of those that somebody names is not exactly what is lost."""
    for loss in named:
        if loss not in losses:
            names = ", ".join(map(str, losses)) or "nothing"
            exit_with_error(f"{loss} is not lost; what is: {names}")


def read_accepted(spark: SparkSession, delta_root: str) -> list[Accepted]:
    """Return the losses that were accepted, the oldest first."""
    path = losses_path(delta_root)
    files, log = locate(spark, f"{path}/_delta_log")
    if not files.exists(log):
        return []
    rows = spark.read.format("delta").load(path).orderBy("accepted_at", "topic", "partition")
    accepted = []
    for topic, partition, first, last, at in rows.collect():
        loss = Loss(topic, partition, first, last)
        accepted.append(Accepted(loss, at))
    return accepted


def record_accepted(spark: SparkSession, delta_root: str, losses: Sequence[Loss]) -> None:
    """Remember for ever which offsets will not land."""
    now = datetime.now(UTC)
    rows = [(*loss, now) for loss in losses]
    frame = make_frame(spark, rows, SCHEMA)
    writer = frame.write.format("delta").mode("append")
    writer.save(losses_path(delta_root))


def losses_path(delta_root: str) -> str:
    """Return where the accepted losses are."""
    return f"{delta_root}/accepted_loss"
