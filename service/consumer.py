"""The consumer: batches of records, offsets committed by hand, and a group that is never kept waiting."""

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

from service.metrics import LAG
from service.outage import AbandonedError, OutageError
from service.record import Headers, Record
from service.settings import Settings

log = structlog.get_logger()
RECORD_LIMIT = (
    1024 * 1024
)  # the broker's own limit; so many more bytes may come with each record asked for


class RecordConsumer:
    """One member of the group. Its callbacks run inside gather and idle, never beside a batch in work."""

    def __init__(self, settings: Settings, is_stopping: Callable[[], bool]) -> None:
        self.consumer = Consumer(settings.kafka())
        self.settings = settings
        self.is_stopping = is_stopping
        self.idling = False
        self.revoked: set[tuple[str, int]] = set()
        self.last_poll = time.monotonic()
        self.consumer.subscribe(
            [settings.input_topic], on_assign=self.on_assign, on_revoke=self.on_revoke
        )

    def gather(self) -> list[Record]:
        """A batch: so many records, so many bytes or so many milliseconds, whichever comes first."""
        if self.idling:
            self.idling = False
            self.consumer.resume(self.consumer.assignment())
        self.revoked.clear()
        records: list[Record] = []
        wanted, room = self.settings.batch_records, self.settings.batch_bytes
        deadline = time.monotonic() + self.settings.batch_window_ms / 1000
        while wanted > len(records) and room > 0 and (left := deadline - time.monotonic()) > 0:
            found = self.consumer.consume(
                min(wanted - len(records), room // RECORD_LIMIT + 1), left
            )
            records += [record for message in found if (record := received(message))]
            room -= sum(len(message.value() or b"") for message in found)
        self.last_poll = time.monotonic()
        return [
            record for record in records if (record.topic, record.partition) not in self.revoked
        ]

    def idle(self, seconds: float) -> None:
        """Wait while staying in the group: everything paused, polling on, unless the batch is lost anyway."""
        self.idling = True
        self.consumer.pause(self.consumer.assignment())
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            message = self.consumer.poll(min(left, 0.2))
            self.last_poll = time.monotonic()
            if message and (record := received(message)):  # just assigned, and not paused in time
                self.rewind([record])
            if self.is_stopping() or self.revoked:
                raise AbandonedError(
                    "stopping" if self.is_stopping() else "a partition was taken away"
                )

    def commit(self, records: Sequence[Record]) -> None:
        """The offsets after the batch; an outage while they are not taken, also when the group has gone on without us.

        Waiting then shows which partitions were taken away, and the batch is abandoned.
        """
        after = {(record.topic, record.partition): record.offset + 1 for record in records}
        offsets = [TopicPartition(*partition, offset) for partition, offset in after.items()]
        try:
            for part in self.consumer.commit(offsets=offsets, asynchronous=False) or []:
                if part.error:
                    raise KafkaException(part.error)
        except KafkaException as failure:
            raise OutageError(f"offsets: {failure.args[0].str()}") from failure
        self.measure_lag()

    def rewind(self, records: Sequence[Record]) -> None:
        """Go back to the start of an abandoned batch, in the partitions that are still ours."""
        ours = {(part.topic, part.partition) for part in self.consumer.assignment()} - self.revoked
        first = {(record.topic, record.partition): record.offset for record in reversed(records)}
        for partition in first.keys() & ours:
            self.consumer.seek(TopicPartition(*partition, first[partition]))

    def on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Start where the group has committed, and where it never has, at the beginning."""
        start = consumer.committed(partitions, timeout=30) if partitions else []
        for partition in start:
            partition.offset = partition.offset if partition.offset >= 0 else OFFSET_BEGINNING
        consumer.incremental_assign(start)
        # A partition that was taken away while paused would come back paused, and stand still for ever.
        (consumer.pause if self.idling else consumer.resume)(start)
        log.info("assigned", partitions=[part.partition for part in start])

    def on_revoke(self, _consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Note what went; a batch in work that holds records of it is abandoned, not half committed."""
        self.revoked.update((part.topic, part.partition) for part in partitions)
        log.info("revoked", partitions=[part.partition for part in partitions])

    def measure_lag(self) -> None:
        """How far each of our partitions is behind, from what the client knows already."""
        for part in self.consumer.position(self.consumer.assignment()):
            _, end = self.consumer.get_watermark_offsets(part, cached=True) or (0, 0)
            if part.offset >= 0:
                LAG.labels(part.partition).set(max(0, end - part.offset))


def received(message: Message) -> Record | None:
    """The record in what the client gave us, unless it is an error that passes."""
    topic, partition, offset = (
        message.topic() or "",
        message.partition() or 0,
        message.offset() or 0,
    )
    error = message.error()
    if error is None:
        headers = cast(
            "Headers", message.headers() or []
        )  # bytes, because nothing here deserializes
        return Record(topic, partition, offset, message.key(), message.value(), headers)
    if error.code() == KafkaError._AUTO_OFFSET_RESET:
        # To go on would be to lose them silently.
        gone = f"service: {topic}/{partition}: the records after the committed offset are gone ({error.str()})"
        raise SystemExit(f"{gone}. Find out what was lost, then set the group's offset by hand.")
    if error.fatal():
        raise KafkaException(error)
    log.warning("kafka", what=error.str())
    return None
