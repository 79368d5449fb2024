"""How far each of our partitions is handled: the lag, and which one stands still."""

import math
import time
from collections.abc import Callable

import structlog
from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]  # exported without a type

from access.kafka_admin import wait_for
from service.metrics import LAG

log = structlog.get_logger()

BROKER_SECONDS = 5.0

Offsets = dict[int, int]  # by partition
FindEnds = Callable[[list[int]], Offsets]


class Progress:
    """What is handled of each of our partitions, what waits there, and since when in vain.

    The consumer notes what is handled. Where a partition ends is asked for in a thread of its own:
    the lag grows also while the consumer waits for an outage to end.
    """

    def __init__(self) -> None:
        self.handled: Offsets = {}  # up to this offset
        self.still_since: dict[int, float] = {}
        self.waiting: Offsets = {}  # how many records
        self.broker_answers = True

    def move(self, number: int, offset: int) -> None:
        """Note up to where a partition is handled; it is one of ours from now on."""
        if self.handled.get(number) != offset:
            self.handled[number] = offset
            self.still_since[number] = time.monotonic()

    def drop(self, number: int) -> None:
        """Note that a partition is ours no more: whoever has it now measures it."""
        self.handled.pop(number, None)
        self.waiting.pop(number, None)
        LAG.remove(number)

    def measure(self, find_ends: FindEnds) -> None:
        """Compare with where the partitions end; without a broker nobody knows the lag."""
        handled = dict(self.handled)
        try:
            ends = find_ends(list(handled))
        except KafkaException:
            ends = {}
        self.broker_answers = ends.keys() == handled.keys()
        for number, offset in handled.items():
            lag = max(0, ends[number] - offset) if number in ends else math.nan
            LAG.labels(number).set(lag)
            if number in ends:
                self.waiting[number] = int(lag)
            if not lag:
                self.still_since[number] = time.monotonic()
        for number in handled.keys() - self.handled.keys():  # taken away meanwhile
            self.drop(number)

    def stuck(self, topic: str, seconds: float) -> str:
        """Return a sentence about a partition that has moved for so long by no record; or nothing.

        What waits may also be a transaction that its producer has left open.
        """
        now = time.monotonic()
        for number, waiting in list(self.waiting.items()):
            still = now - self.still_since.get(number, now)
            if waiting and still > seconds:
                return f"{topic}/{number}: {waiting} records wait, none handled for {still:.0f} s"
        return ""


def log_change(was_stuck: bool, sentence: str) -> bool:
    """Log when a partition gets stuck, and when all move again; return whether one is stuck."""
    is_stuck = bool(sentence)
    if is_stuck and not was_stuck:
        log.warning("stuck", what=sentence)
    if was_stuck and not is_stuck:
        log.info("moving_again")
    return is_stuck


def find_ends(admin: AdminClient, topic: str, numbers: list[int]) -> Offsets:
    """Return where each partition ends, with what its producers have not committed yet."""
    if not numbers:
        return {}
    latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
    asked = {TopicPartition(topic, number): latest for number in numbers}
    answers = admin.list_offsets(asked, request_timeout=BROKER_SECONDS)
    ends = {}
    for partition, answer in answers.items():
        found = wait_for(answer, 2 * BROKER_SECONDS)
        ends[partition.partition] = found.offset
    return ends
