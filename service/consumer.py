"""The consumer: it gathers batches, commits offsets by hand, and never keeps the group waiting."""

import time
from collections.abc import Callable, Sequence
from typing import cast

import structlog
from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)

from service.logs import exit_with_error
from service.metrics import LAG
from service.outage import AbandonedError, OutageError
from service.record import Headers, Record
from service.settings import Settings

log = structlog.get_logger()

RECORD_LIMIT = 1024 * 1024  # the broker's own: a record that is asked for may have this many bytes
COMMITTED_SECONDS = 30
POLL_SECONDS = 0.2


class RecordConsumer:
    """One member of the group, which it joins with its first batch.

    Its callbacks run inside gather and idle, never while a batch is in progress.
    """

    def __init__(self, settings: Settings, is_stopping: Callable[[], bool]) -> None:
        self.consumer = Consumer(settings.kafka())
        self.settings = settings
        self.is_stopping = is_stopping
        self.has_joined = False
        self.idling = False
        self.revoked: set[tuple[str, int]] = set()
        self.last_poll = time.monotonic()
        self.restarts = 0  # grows whenever records may come again
        self.waits_for = ""  # what refuses the batch in progress, if it waits for that to end

    def join(self) -> None:
        """Join the group: what happens before it holds up no other member."""
        self.consumer.subscribe(
            [self.settings.input_topic], on_assign=self.on_assign, on_revoke=self.on_revoke
        )
        self.has_joined = True

    def gather(self) -> list[Record]:
        """Return a batch: it is limited by records, by bytes and by milliseconds."""
        if not self.has_joined:
            self.join()
        if self.idling:
            self.idling = False
            self.waits_for = ""
            self.consumer.resume(self.consumer.assignment())
        self.revoked.clear()
        records: list[Record] = []
        bytes_left = self.settings.batch_bytes
        deadline = time.monotonic() + self.settings.batch_window_ms / 1000
        while bytes_left > 0 and len(records) < self.settings.batch_records:
            seconds_left = deadline - time.monotonic()
            if seconds_left <= 0:
                break
            records_left = self.settings.batch_records - len(records)
            records_that_fit = bytes_left // RECORD_LIMIT + 1
            for message in self.consumer.consume(min(records_left, records_that_fit), seconds_left):
                bytes_left -= len(message.value() or b"")
                record = received(message)
                if record:
                    records.append(record)
        self.last_poll = time.monotonic()
        if self.revoked:
            return [r for r in records if (r.topic, r.partition) not in self.revoked]
        return records

    def idle(self, seconds: float) -> None:
        """Wait, paused but polling so that the group keeps us; raise if the batch is lost."""
        self.idling = True
        self.consumer.pause(self.consumer.assignment())
        deadline = time.monotonic() + seconds
        while True:
            seconds_left = deadline - time.monotonic()
            if seconds_left <= 0:
                return
            message = self.consumer.poll(min(seconds_left, POLL_SECONDS))
            self.last_poll = time.monotonic()
            record = received(message) if message else None
            if record:  # of a partition that was assigned just now, and not paused in time
                self.rewind([record])
            if self.is_stopping():
                raise AbandonedError("stopping")
            if self.revoked:
                raise AbandonedError("a partition was taken away")

    def commit(self, records: Sequence[Record]) -> None:
        """Commit the offsets after the batch; raise OutageError as long as they are not taken.

        That is also an outage when the group has gone on without us: waiting then shows which
        partitions were taken away, and the batch is abandoned.
        """
        after = {(record.topic, record.partition): record.offset + 1 for record in records}
        offsets = [TopicPartition(*partition, offset) for partition, offset in after.items()]
        try:
            committed = self.consumer.commit(offsets=offsets, asynchronous=False)
            for partition in committed or []:
                if partition.error:
                    raise KafkaException(partition.error)
        except KafkaException as failure:
            raise OutageError(f"offsets: {failure.args[0].str()}") from failure
        self.measure_lag()

    def rewind(self, records: Sequence[Record]) -> None:
        """Go back to the start of an abandoned batch, in the partitions that are still ours."""
        self.restarts += 1
        assigned = {(part.topic, part.partition) for part in self.consumer.assignment()}
        first = {(record.topic, record.partition): record.offset for record in reversed(records)}
        for partition in first.keys() & (assigned - self.revoked):
            self.consumer.seek(TopicPartition(*partition, first[partition]))

    def on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Start where the group has committed, and where it never has, at the beginning."""
        self.restarts += 1
        start = consumer.committed(partitions, timeout=COMMITTED_SECONDS) if partitions else []
        for partition in start:
            if partition.offset < 0:
                partition.offset = OFFSET_BEGINNING
        consumer.incremental_assign(start)
        # A partition that was taken away while paused would come back paused, and stay so for ever.
        if self.idling:
            consumer.pause(start)
        else:
            consumer.resume(start)
        log.info("assigned", partitions=[part.partition for part in start])

    def on_revoke(self, _consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Note what was taken away: a batch with records of it is abandoned, not half committed."""
        self.revoked.update((part.topic, part.partition) for part in partitions)
        log.info("revoked", partitions=[part.partition for part in partitions])

    def measure_lag(self) -> None:
        """Report how far each of our partitions is behind, from what the client knows already."""
        for part in self.consumer.position(self.consumer.assignment()):
            watermarks = self.consumer.get_watermark_offsets(part, cached=True)
            if watermarks and part.offset >= 0:
                lag = watermarks[1] - part.offset
                LAG.labels(part.partition).set(max(0, lag))


def received(message: Message) -> Record | None:
    """Return the record in what the client gave us, or None for an error that passes."""
    topic = message.topic() or ""
    partition = message.partition() or 0
    error = message.error()
    if error is None:
        # Bytes, because nothing here deserializes them.
        headers = cast("Headers", message.headers() or [])
        offset = message.offset() or 0
        return Record(topic, partition, offset, message.key(), message.value(), headers)
    if error.code() == KafkaError._AUTO_OFFSET_RESET:
        # Going on would lose the records silently.
        exit_with_error(
            f"service: {topic}/{partition}: the records after the committed offset are gone"
            f" ({error.str()}). Find out what was lost, then set the group's offset by hand."
        )
    if error.fatal():
        raise KafkaException(error)
    log.warning("kafka", what=error.str())
    return None
