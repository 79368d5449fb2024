"""The consumer: it gathers batches, commits offsets by hand, and never keeps the group waiting."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple, TypeVar, cast

import structlog
from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from access.kafka import KafkaAccess
from access.kafka_login import explain, renew_password
from service.kafka_errors import classify_errors, raise_first_error, stop_if_final
from service.outage import MOMENT, AbandonedError, OutageError
from service.progress import Progress
from service.record import Headers, Record
from service.settings import OFFSET_COMMIT_SECONDS, Settings
from service.tries import Tries

log = structlog.get_logger()
Answer = TypeVar("Answer")

RECORD_LIMIT = 1024 * 1024  # the broker's own: a record that is asked for may have this many bytes
ANSWER_SECONDS = 5.0
POLL_SECONDS = 0.2
ALIVE_SECONDS = 1.0  # after a poll nobody asks for another sign of life
FIRST_SECONDS = 0.1  # the wait for the first record of a batch, before other work has its turn
RETRY_SECONDS = 1.0
SERVE_SECONDS = 2.0
WHY = "the process has ended in the batch that began here"
REFUSAL_SECONDS = 10.0  # the same refusal is logged this often


class Memory(NamedTuple):
    """What is known of the topic beyond what Kafka keeps; each step may raise an OutageError."""

    name: str  # what its records are called
    confirm: Callable[[], None]  # the records that have come are of this topic
    refuse_gap: Callable[[Sequence[int]], None]  # these partitions have no committed offset
    note_begun: Callable[[Sequence[int]], None]  # and now they have


def without_memory(topic: str) -> Memory:
    """Return what is known where nothing is remembered: each start may be the first."""
    return Memory(topic, lambda: None, lambda _numbers: None, lambda _numbers: None)


class RecordConsumer:
    """One member of the group, which it joins with its first batch.

    Its callbacks run inside gather and idle, never while a batch is in progress.
    """

    def __init__(self, settings: Settings, is_stopping: Callable[[], bool]) -> None:
        callbacks = {"error_cb": self.note_error, "on_commit": self.note_commit}
        self.consumer = Consumer({**settings.kafka(), **callbacks})
        self.settings = settings
        self.topic = settings.input_topic
        self.memory = without_memory(self.topic)
        self.is_stopping = is_stopping
        self.has_joined = False
        self.idling = False
        # By the numbers of partitions.
        self.revoked: set[int] = set()  # taken away since the gather began, or since it ended
        self.ends: dict[int, int] = {}  # where one ended, when everything before had come
        self.beginnings: dict[int, int] = {}  # of those in which nothing is committed yet
        self.progress = Progress()
        self.tries = Tries(settings.batch_records)
        self.in_batch: set[int] = set()  # the partitions of the batch in progress
        self.before_waiting: Callable[[], None] = do_nothing
        self.commit_seconds: float = OFFSET_COMMIT_SECONDS
        self.is_answered = True  # the last commit
        self.is_leaving = False
        self.last_poll = time.monotonic()
        self.was_refused = False  # by a broker that does not let us in
        self.last_refusal = -REFUSAL_SECONDS
        self.restarts = 0  # grows whenever records may come again
        self.waits_for = ""  # what refuses the batch in progress, if it waits for that to end
        self.member_id = ""  # while we have no partition; otherwise nobody asks

    def note_error(self, error: KafkaError) -> None:
        """Log why the broker does not let us in: the client itself would only try again."""
        sentence = explain(error, KafkaAccess())
        if not sentence:
            return
        self.was_refused = True
        is_due = time.monotonic() > self.last_refusal + REFUSAL_SECONDS
        if is_due:
            self.last_refusal = time.monotonic()
            log.error("not_let_in", what=sentence)

    def try_new_password(self) -> None:
        """Try the password that is in the file now, if the broker has refused us.

        Not where it is noticed: a client that is called from its own callback ends the process.
        """
        if self.was_refused:
            self.was_refused = False
            renew_password(self.consumer)

    def join(self) -> None:
        """Join the group: what happens before it holds up no other member."""
        self.consumer.subscribe(
            [self.topic],
            on_assign=self.on_assign,
            on_revoke=self.on_revoke,
        )
        self.has_joined = True

    def leave(self) -> None:
        """Leave the group, so that the others need not wait until our session ends.

        A close in the middle of a rebalance may never return, so what is in progress is served
        first. A static member only goes away: its partitions wait for it.

        A close would also wait for a commit that has no answer, as long as a session lasts. Then
        the process ends without: the group goes on when our session ends.
        """
        self.is_leaving = True
        self.commit_seconds = SERVE_SECONDS
        is_member = self.has_joined and not self.settings.group_instance_id
        if is_member:
            self.consumer.unsubscribe()
            deadline = time.monotonic() + SERVE_SECONDS
            while self.consumer.assignment() and time.monotonic() < deadline:
                self.consumer.poll(POLL_SECONDS)
        if self.is_answered:
            self.consumer.close()

    def gather(self) -> list[Record]:
        """Return a batch, or none if no record comes.

        It is limited by records, by bytes, and by milliseconds from its first record on. What comes
        while a batch is handled keeps the next one company, so these may be few.
        """
        self.begin_batch()
        records: list[Record] = []
        bytes_left = self.settings.batch_bytes
        window = self.settings.batch_window_ms / 1000
        deadline = time.monotonic() + FIRST_SECONDS
        most_records = self.tries.most_records()
        while bytes_left > 0 and len(records) < most_records:
            seconds_left = deadline - time.monotonic()
            if seconds_left <= 0:
                break
            is_first = not records
            records_left = most_records - len(records)
            records_that_fit = bytes_left // RECORD_LIMIT + 1
            count = 1 if is_first else min(records_left, records_that_fit)
            messages = self.consumer.consume(count, seconds_left)
            for record in self.receive_all(messages):
                bytes_left -= len(record.value or b"")
                records.append(record)
            if is_first and records:
                deadline = time.monotonic() + window
        self.last_poll = time.monotonic()
        ours = self.keep_first(self.keep_ours(records))
        self.in_batch = {record.partition for record in ours}
        if not ours:
            self.pass_markers()
        if not self.progress.handled:
            self.member_id = self.consumer.memberid() or ""
        return ours

    def find_our_id(self) -> str | None:
        """Return the id under which the group should have us; None if that is beyond doubt.

        With a partition, the client itself notices when the group has gone on without us.
        """
        may_be_out = self.has_joined and not self.is_leaving and not self.progress.handled
        return self.member_id if may_be_out else None

    def receive_all(self, messages: list[Message]) -> Iterator[Record]:
        """Yield the records, and note where the end of a partition has come."""
        for message in messages:
            record = receive(message, self.settings)
            if record:
                yield record._replace(topic=self.memory.name)
            elif is_end(message):
                number = message.partition() or 0
                self.ends[number] = message.offset() or 0

    def pass_markers(self) -> None:
        """Commit the end of a partition that has come without a record.

        Only what a producer has aborted is before it, and the markers of transactions. Uncommitted,
        that would be a lag, and one day be taken for records that are gone.
        """
        handled = self.progress.handled
        is_passed = any(end > handled.get(number, end) for number, end in self.ends.items())
        if is_passed:
            with suppress(OutageError):  # then with the next batch
                self.commit([])

    def begin_batch(self) -> None:
        """Make ready for a batch: the first joins the group, one after an outage resumes."""
        self.try_new_password()
        if not self.has_joined:
            self.join()
        if self.idling:
            self.idling = False
            self.waits_for = ""
            self.consumer.resume(self.consumer.assignment())
        self.revoked.clear()
        self.ends.clear()

    def keep_ours(self, records: list[Record]) -> list[Record]:
        """Return the records of the partitions that are ours at the end of the gather.

        One that was taken away and given back has begun again at its committed offset. Without the
        records that have come since then they would be passed over.
        """
        if not self.revoked:
            return records
        self.revoked.clear()  # from here on: what is taken away from the batch
        ours = self.assigned()
        return [record for record in records if record.partition in ours]

    def keep_first(self, records: list[Record]) -> list[Record]:
        """Return as many as a batch may have now: that may be known only since the gather."""
        most_records = self.tries.most_records()
        self.put_back(records[most_records:])
        return records[:most_records]

    def put_back(self, records: Sequence[Record]) -> None:
        """Go back to the first of these records in each partition."""
        first = {record.partition: record for record in reversed(records)}
        for record in first.values():
            self.seek(record)

    def assigned(self) -> set[int]:
        """Return the partitions that are ours."""
        return {part.partition for part in self.consumer.assignment()}

    def idle(self, seconds: float) -> None:
        """Wait, paused but polling so that the group keeps us; raise if the batch is lost.

        A moment is only a sign of life, which is left out if there was one just now: after a pause
        the client may fetch nothing for a second.
        """
        is_sign_of_life = seconds <= MOMENT
        if is_sign_of_life and time.monotonic() < self.last_poll + ALIVE_SECONDS:
            self.abandon_if_stopping()
            return
        self.idling = True
        if not is_sign_of_life:
            self.take_back_tries()
        self.try_new_password()
        self.consumer.pause(self.consumer.assignment())
        deadline = time.monotonic() + seconds
        seconds_left = seconds
        while True:
            message = self.consumer.poll(min(seconds_left, POLL_SECONDS))
            self.last_poll = time.monotonic()
            records = self.receive_all([message]) if message else []
            for record in records:  # of a partition that was not paused in time
                self.seek(record)
            self.abandon_if_stopping()
            if self.revoked:
                raise AbandonedError("a partition was taken away")
            seconds_left = deadline - self.last_poll
            if seconds_left <= 0:
                return

    def abandon_if_stopping(self) -> None:
        """Raise if we were asked to stop: what is in progress comes again."""
        if self.is_stopping():
            raise AbandonedError("stopping")

    def confirm(self) -> None:
        """Make sure that the batch is of the topic that we know, before it has any effect.

        Where the group begins is committed now. So a group without an offset, in a partition that
        it has begun, has lost it.
        """
        if self.beginnings:
            self.commit_in_time(self.at(self.beginnings, self.tries.noted()))
            self.memory.note_begun(list(self.beginnings))
            self.beginnings.clear()
        self.memory.confirm()

    def counts_tries(self) -> bool:
        """Return whether a partition has not gone on since it was assigned."""
        return bool(self.tries.counts)

    def begin_try(self) -> None:
        """Write that the batch is begun, before its records are read: they may end the process.

        Only what has not gone on since it was assigned is written, or goes alone.
        """
        begun = self.tries.to_begin(self.in_batch)
        if begun:
            self.commit_in_time(self.at_handled(begun))
            self.tries.begun.update(begun)

    def take_back_tries(self) -> None:
        """Write that from now on the process may end for another reason than a record."""
        self.before_waiting()
        taken_back = self.tries.take_back()
        if taken_back:
            with suppress(OutageError):
                self.commit_in_time(self.at_handled(taken_back))

    def is_fatal(self, record: Record) -> bool:
        """Return whether this record has ended the process, alone, too often."""
        number = record.partition
        is_parked = record.offset < self.progress.handled.get(number, 0)
        return self.tries.ends_the_process(number) and not is_parked

    def at(
        self, offsets: Mapping[int, int], metadata: Mapping[int, str] | None = None
    ) -> list[TopicPartition]:
        """Return these positions in the topic, with what else is committed there."""
        notes = metadata or {}
        return [
            TopicPartition(self.topic, number, offset, notes.get(number, ""))
            for number, offset in offsets.items()
        ]

    def at_handled(self, metadata: Mapping[int, str]) -> list[TopicPartition]:
        """Return the positions up to which these partitions are handled, with their metadata."""
        handled = self.progress.handled
        ours = {number: handled[number] for number in metadata if number in handled}
        return self.at(ours, metadata)

    def commit(self, records: Sequence[Record]) -> None:
        """Commit the offsets after the batch; raise OutageError as long as they are not taken.

        That is also an outage when the group has gone on without us: waiting then shows which
        partitions were taken away, and the batch is abandoned.
        """
        after = self.offsets_after(records)
        counts = Counter(record.partition for record in records)
        metadata = self.tries.go_on(counts)
        self.commit_in_time(self.at(after, metadata))
        for number, offset in after.items():
            self.progress.move(number, offset)

    def offsets_after(self, records: Sequence[Record]) -> dict[int, int]:
        """Return where each partition goes on after these records and the ends that have come."""
        after = dict(self.ends)
        for record in records:
            end = self.ends.get(record.partition, 0)
            after[record.partition] = max(record.offset + 1, end)
        return after

    def commit_in_time(self, offsets: list[TopicPartition]) -> None:
        """Commit these offsets, or raise an OutageError if that takes too long.

        A commit that waits for its answer has no bound, and meanwhile no other call of the client
        returns. So it does not wait, and then we ask what is committed: on one connection the
        broker answers one request after the other. An earlier commit, on a connection that was
        given up, may still come between the two; then this one has to be repeated.
        """
        self.is_answered = False
        with classify_errors(self.settings, "offsets"):
            self.consumer.commit(offsets=offsets, asynchronous=True)
            committed = self.consumer.committed(offsets, timeout=self.commit_seconds)
            raise_first_error(committed)
        self.is_answered = True
        if positions(committed) != positions(offsets):
            raise OutageError("offsets: the group has not taken them")

    def note_commit(self, error: KafkaError | None, partitions: list[TopicPartition]) -> None:
        """End the process if a commit was refused for a reason that does not pass by itself."""
        errors = [error, *(partition.error for partition in partitions)]
        for refusal in filter(None, errors):
            if not self.is_leaving:
                stop_if_final(refusal, self.settings)

    def rewind(self, records: Sequence[Record]) -> None:
        """Go back to the start of an abandoned batch, in the partitions that are still ours.

        One that was given back to us begins at its committed offset by itself.
        """
        self.restarts += 1
        self.take_back_tries()
        self.in_batch = set()
        ours = self.assigned() - self.revoked
        self.put_back([record for record in records if record.partition in ours])

    def seek(self, record: Record) -> None:
        """Go back to a record, so that it comes again."""
        self.ends.pop(record.partition, None)
        position = TopicPartition(self.topic, record.partition, record.offset)
        self.consumer.seek(position)

    def on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Begin where the group has committed, and where it never has, at the beginning.

        A client that closes asks the broker nothing more, so it would wait for the answer for ever.
        """
        if self.is_leaving:
            return
        self.restarts += 1
        start = self.wait_out(partial(self.find_start, partitions))
        consumer.incremental_assign(start)
        for part in start:
            self.progress.move(part.partition, part.offset)
            self.tries.assign(part.partition, part.metadata)
        if self.tries.watched:
            watched = list(self.tries.watched)
            most_records = self.tries.most_records()
            log.warning("small_batches", records=most_records, partitions=watched, why=WHY)
        # A partition that was taken away while paused would come back paused, and stay so for ever.
        if self.idling:
            consumer.pause(start)
        else:
            consumer.resume(start)
        log.info("assigned", partitions=[part.partition for part in start])

    def find_start(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        """Return these partitions with the offsets to begin at."""
        if not partitions:
            return []
        with classify_errors(self.settings, "assignment"):
            start = self.consumer.committed(partitions, timeout=ANSWER_SECONDS)
            raise_first_error(start)
            new = [part for part in start if part.offset < 0]
            if new:
                self.begin(new)
        return start

    def begin(self, parts: list[TopicPartition]) -> None:
        """Set these partitions to their beginning, if this is really where the group begins."""
        self.memory.refuse_gap([part.partition for part in parts])
        for part in parts:
            watermarks = self.consumer.get_watermark_offsets(part, timeout=ANSWER_SECONDS)
            part.offset, _ = watermarks or (0, 0)
            self.beginnings[part.partition] = part.offset

    def wait_out(self, step: Callable[[], Answer]) -> Answer:
        """Repeat a step of a callback until it answers; nobody can poll meanwhile.

        An outage of minutes costs the partitions, as the group takes us for stuck. Then the client
        joins again.
        """
        while True:
            try:
                return step()
            except OutageError as outage:
                log.warning("outage", stage="assignment", what=str(outage))
            self.abandon_if_stopping()
            time.sleep(RETRY_SECONDS)

    def on_revoke(self, _consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Note what was taken away: a batch with records of it is abandoned, not half committed."""
        numbers = [part.partition for part in partitions]
        self.take_back_tries()
        self.revoked.update(numbers)
        for number in numbers:
            self.ends.pop(number, None)
            self.beginnings.pop(number, None)
            self.tries.drop(number)
            self.progress.drop(number)
        log.info("revoked", partitions=numbers)


def do_nothing() -> None:
    """Do nothing: nobody else counts tries."""


def positions(offsets: Sequence[TopicPartition]) -> set[tuple[int, int, str]]:
    """Return number, offset and metadata of each partition."""
    return {(one.partition, one.offset, one.metadata or "") for one in offsets}


def is_end(message: Message) -> bool:
    """Return whether this says that there is nothing more in a partition, for now."""
    error = message.error()
    return error is not None and error.code() == KafkaError._PARTITION_EOF


def receive(message: Message, settings: Settings) -> Record | None:
    """Return the record in what the client gave us, or None for an error that passes."""
    error = message.error()
    if error is None:
        return to_record(message)
    if is_end(message):
        return None
    stop_if_final(error, settings, f"{message.topic()}/{message.partition()}")
    log.warning("kafka", what=error.str())
    return None


def to_record(message: Message) -> Record:
    """Return what Kafka gave us; bytes stay bytes, because nothing here deserializes them."""
    headers = cast("Headers", message.headers() or [])
    return Record(
        message.topic() or "",
        message.partition() or 0,
        message.offset() or 0,
        message.key(),
        message.value(),
        headers,
    )
