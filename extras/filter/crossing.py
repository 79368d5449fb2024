"""One batch: what passes, what does not, the marks and the offsets, in one Kafka transaction."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import structlog
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from extras.filter import metrics
from extras.filter.decide import Decision, Letter, Raised, Read, decide
from extras.filter.marks import mark_value, read_marks
from extras.filter.settings import Settings
from service.outage import OutageError
from service.record import Record

log = structlog.get_logger()


@dataclass
class Crossing:
    """The partitions that this instance owns, and how it takes a batch of them across."""

    settings: Settings
    consumer: Consumer
    producer: Producer
    read: Read
    marks: dict[int, int] = field(default_factory=dict)
    owned: set[int] = field(default_factory=set)
    has_joined: bool = False

    def own(self, partitions: Sequence[TopicPartition]) -> list[TopicPartition]:
        """Take these partitions over; return where to begin.

        The offsets come first, and with them the end of what an earlier owner had begun: the broker
        answers when its transaction is committed or aborted. Read before that, marks could be old.
        """
        start = self.consumer.committed(list(partitions), timeout=self.patience_seconds)
        for place in start:
            if place.error:
                raise KafkaException(place.error)
            if place.offset < 0:
                place.offset = self.first_offset(place)
        numbers = [place.partition for place in start]
        found = read_marks(
            self.settings.consumer(),
            self.settings.filter_mark_topic,
            numbers,
            self.patience_seconds,
        )
        self.marks.update(found)
        self.owned.update(numbers)
        return start

    @property
    def patience_seconds(self) -> float:
        """Return how long a transaction of somebody else may stay open, and a bit more."""
        return 2 * self.settings.filter_transaction_seconds

    def first_offset(self, place: TopicPartition) -> int:
        """Return the first offset that is there."""
        found = self.consumer.get_watermark_offsets(place, timeout=self.patience_seconds)
        first, _ = found or (0, 0)
        return first

    def disown(self, partitions: Sequence[TopicPartition]) -> None:
        """Forget what another instance will go on with."""
        for place in partitions:
            self.owned.discard(place.partition)
            self.marks.pop(place.partition, None)

    def take_across(self, records: Sequence[Record]) -> None:
        """Do all of a batch, or nothing; then it raises an outage, and the batch comes again."""
        decision = decide(records, self.marks, self.read)
        self.producer.begin_transaction()
        try:
            self.produce(decision)
            self.producer.send_offsets_to_transaction(
                next_offsets(records), self.consumer.consumer_group_metadata()
            )
            self.producer.commit_transaction()
        except KafkaException as failure:
            self.give_up(failure)
        self.marks.update(decision.marks())
        count(decision)

    def produce(self, decision: Decision) -> None:
        """Send what a decision has to say."""
        for record in decision.passed:
            self.producer.produce(
                self.settings.filter_output_topic,
                record.value,
                record.key,
                headers=list(record.headers),
            )
        for letter in decision.letters:
            self.bury(letter)
        for raised in decision.raised.values():
            self.raise_mark(raised)

    def raise_mark(self, raised: Raised) -> None:
        """Send the mark of a partition to the partition of the same number."""
        record = raised.record
        self.producer.produce(
            self.settings.filter_mark_topic,
            mark_value(raised.number, record.offset),
            f"{record.topic}/{record.partition}",
            partition=record.partition,
        )

    def bury(self, letter: Letter) -> None:
        """Send a record on as it is, with the reason and with where it was."""
        record = letter.record
        log.warning("dead_letter", reason=letter.reason, **record.place)
        place = [(name, str(value).encode()) for name, value in record.place.items()]
        self.producer.produce(
            self.settings.filter_dead_letter_topic,
            record.value,
            record.key,
            headers=[*record.headers, ("reason", letter.reason.encode()), *place],
        )

    def give_up(self, failure: KafkaException) -> None:
        """Abort the transaction and raise an outage; a producer that is fenced ends the process."""
        error = failure.args[0]
        if error.fatal():
            raise failure
        self.producer.abort_transaction()
        metrics.ABORTED.inc()
        raise OutageError(f"transaction: {error.str()}") from failure


def next_offsets(records: Sequence[Record]) -> list[TopicPartition]:
    """Return where each partition goes on after these records."""
    last = {(record.topic, record.partition): record.offset for record in records}
    return [TopicPartition(*place, offset + 1) for place, offset in last.items()]


def count(decision: Decision) -> None:
    """Count what has become of a batch."""
    metrics.RECORDS.labels("passed").inc(len(decision.passed))
    metrics.RECORDS.labels("dropped").inc(decision.dropped)
    metrics.RECORDS.labels("dead_letter").inc(len(decision.letters))
