"""python -m extras.filter: take records from topic to topic, each number once."""

import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import structlog
from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition

from access.kafka_admin import Admin
from extras.filter.crossing import Crossing
from extras.filter.decide import make_reader
from extras.filter.outage import wait_out
from extras.filter.owners import find_owner
from extras.filter.pages import Pages, serve
from extras.filter.settings import Settings
from extras.filter.topics import refuse_topics
from service.consumer import is_end, to_record
from service.logs import configure_logs, exit_with_error
from service.outage import AbandonedError, OutageError
from service.record import Record
from service.stop import Stop
from service.watch import Membership, find_members, start_anew_if_out

log = structlog.get_logger()

LOOK_SECONDS = 0.5  # between two looks for a process that has no partition

GONE = (
    "filter: {place}: the records after the committed offset are gone ({reason}). They are lost, if"
    " they were not filtered. Set the group's offset by hand, and start again."
)
FENCED = (
    "filter: {reason}. Either another process has the transactional id {id}: give each instance a"
    " FILTER_PORT or FILTER_URL of its own. Or a transaction was open for longer than"
    " FILTER_TRANSACTION_SECONDS={seconds:g}. Nothing is lost: start again."
)


class Loop:
    """Batch after batch. Rebalances happen in consume() alone, when no transaction is open."""

    def __init__(self, settings: Settings, crossing: Crossing, stop: Stop, admin: Admin) -> None:
        self.settings = settings
        self.crossing = crossing
        self.stop = stop
        members = partial(find_members, group=settings.filter_group_id)
        self.membership = Membership(self.find_our_id, partial(admin.ask, members))

    def run(self, pages: Pages) -> None:
        """Take batches across until asked to stop."""
        consumer = self.crossing.consumer
        consumer.subscribe(
            [self.settings.filter_input_topic],
            on_assign=self.on_assign,
            on_revoke=self.on_revoke,
            on_lost=self.on_revoke,
        )
        while not self.stop.asked.is_set():
            messages = consumer.consume(
                self.settings.filter_batch_records, self.settings.filter_window_seconds
            )
            pages.last_poll = time.monotonic()
            records = self.keep_ours(messages)
            if records:
                self.take_across(records)
            if not self.crossing.owned:
                self.look_for_us()

    def find_our_id(self) -> str | None:
        """Return the id under which the group should have us; None while we have a partition."""
        return None if self.crossing.owned else self.crossing.consumer.memberid() or ""

    def look_for_us(self) -> None:
        """Start anew if the group has lost us."""
        settings = self.settings
        start_anew_if_out(self.membership, settings.filter_group_id, settings.rejoin_seconds)
        self.stop.asked.wait(LOOK_SECONDS)

    def keep_ours(self, messages: list[Message]) -> list[Record]:
        """Return the records of the partitions that are still ours: a rebalance may have come."""
        received = [receive(message) for message in messages]
        return [record for record in received if record and record.partition in self.crossing.owned]

    def take_across(self, records: list[Record]) -> None:
        """Do all of a batch, or let it come again."""
        try:
            self.crossing.take_across(records)
        except OutageError as outage:
            log.warning("outage", what=str(outage), records=len(records))
            self.rewind(records)
            self.stop.asked.wait(self.settings.retry_seconds)

    def on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Go on where the last owner's last transaction ends."""
        own = partial(self.crossing.own, partitions)
        start = wait_out(own, "assignment", self.stop, self.settings.retry_seconds)
        consumer.incremental_assign(start)
        self.crossing.has_joined = True
        log.info("assigned", partitions=[place.partition for place in start])

    def on_revoke(self, _consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Forget what is no longer ours."""
        self.crossing.disown(partitions)
        log.info("revoked", partitions=[place.partition for place in partitions])

    def rewind(self, records: list[Record]) -> None:
        """Let a batch come again."""
        first = {record.partition: record for record in reversed(records)}
        for record in first.values():
            place = TopicPartition(record.topic, record.partition, record.offset)
            self.crossing.consumer.seek(place)


def receive(message: Message) -> Record | None:
    """Return the record in what the client gave us, or None for an error that passes."""
    error = message.error()
    if error is None:
        return to_record(message)
    if is_end(message):
        return None
    if error.code() == error._AUTO_OFFSET_RESET:
        place = f"{message.topic()}/{message.partition()}"
        exit_with_error(GONE.format(place=place, reason=error.str()))
    log.warning("kafka", what=error.str())
    return None


def is_retriable(failure: Exception) -> bool:
    """Return whether the client says that the same call may be repeated."""
    return bool(failure.args[0].retriable())


def main(
    make_producer: Callable[[dict[str, Any]], Producer] = Producer,
    make_crossing: Callable[..., Crossing] = Crossing,
) -> None:
    """Run until SIGTERM; what is in progress then is finished."""
    settings = Settings()
    configure_logs(settings.log_level)
    stop = Stop(settings.stop_seconds)
    stop.listen()
    admin = Admin(settings.kafka_bootstrap_servers)
    # check: ignore[consumer-not-seen] settings.py has them, each with its reason beside it
    consumer = Consumer(settings.consumer())
    producer = make_producer(settings.producer())
    crossing = make_crossing(settings, consumer, producer, make_reader(settings.filter_number))
    owner = partial(find_owner, admin, settings.filter_group_id, settings.filter_input_topic)
    pages = Pages(settings, crossing, owner)
    serve(settings, pages)
    try:
        with suppress(AbandonedError):
            refuse_topics(admin, settings, stop)
            # Aborts what an earlier process has left open under this id.
            begin = partial(producer.init_transactions, 10)
            wait_out(begin, "start", stop, settings.retry_seconds, is_retriable)
            Loop(settings, crossing, stop, admin).run(pages)
    except KafkaException as failure:
        error = failure.args[0]
        if not error.fatal():
            raise
        said = FENCED.format(
            reason=error.str(),
            id=settings.producer()["transactional.id"],
            seconds=settings.filter_transaction_seconds,
        )
        exit_with_error(said)
    finally:
        stop.end_within(stop.seconds)
        consumer.close()
    log.info("stopped")


if __name__ == "__main__":
    main()
