"""Spans of what a batch has handled, for messages whose producer has their trace sampled.

Their ids are derived like all others: what is handled again after a crash is the same span.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import structlog

from access.collector import Collector, CollectorError, Span, find_collector
from service import metrics
from service.ids import derive, span_id_of
from service.logs import exit_with_error
from service.post import Entry
from service.record import DeadLetter, Item, Message, Record, read_trace

log = structlog.get_logger()

Read = Callable[[Record], Item]


class Spans(NamedTuple):
    """What a subscriber hands to the collector."""

    collector: Collector
    subscriber: str

    def wrap(self, read: Read) -> Read:
        """Return how to read records so that what comes of a message comes of its own span."""

        def read_within(record: Record) -> Item:
            item = read(record)
            if isinstance(item, DeadLetter) or item.trace is None or not item.trace.is_sampled:
                return item
            within = item.trace.within(self.span_id(item))
            return item._replace(trace=within)

        return read_within

    def span_id(self, message: Message) -> str:
        """Return the id of the span in which a message is handled."""
        event_id = derive("event", message.message_id, self.subscriber)
        return span_id_of(event_id)

    def report(self, entries: Sequence[Entry], letters: Sequence[DeadLetter], begun: int) -> None:
        """Hand in the spans of a batch."""
        self.collector.take(self.of_messages(entries, begun))
        self.collector.take(self.of_letters(letters, begun))

    def of_messages(self, entries: Sequence[Entry], begun: int) -> Iterator[Span]:
        """Yield the span of each message."""
        for message, outcome in entries:
            if not is_sampled(message):
                continue
            more = {"messaging.message.id": message.message_id, "outcome": outcome}
            yield from make_span(message.record, self.span_id(message), begun, more)

    def of_letters(self, letters: Sequence[DeadLetter], begun: int) -> Iterator[Span]:
        """Yield the span of each dead letter."""
        for letter in letters:
            position = "{topic}/{partition}/{offset}".format_map(letter.record.place)
            span_id = span_id_of(derive("dead-letter", position, self.subscriber))
            more = {"outcome": "dead letter", "error.type": letter.kind}
            yield from make_span(letter.record, span_id, begun, more)


def is_sampled(message: Message) -> bool:
    """Return whether somebody keeps the spans of a message."""
    return message.trace is not None and message.trace.is_sampled


def make_span(record: Record, span_id: str, begun: int, more: dict[str, str]) -> Iterator[Span]:
    """Yield the span in which a record was handled, if its trace is sampled."""
    parent = read_trace(record)
    if parent is None or not parent.is_sampled:
        return
    yield Span(
        name=f"process {record.topic}",
        kind="consumer",
        trace_id=parent.trace_id,
        span_id=span_id,
        parent_id=parent.span_id,
        begun=begun,
        ended=time.time_ns(),
        attributes={
            "messaging.system": "kafka",
            "messaging.operation.type": "process",
            "messaging.destination.name": record.topic,
            "messaging.destination.partition.id": str(record.partition),
            "messaging.kafka.offset": record.offset,
            **more,
        },
    )


def find_spans(subscriber: str) -> Spans | None:
    """Return where the spans of a subscriber go; None if no setting names a collector."""
    collector = find_or_exit(subscriber)
    return Spans(collector, subscriber) if collector else None


def find_or_exit(part: str) -> Collector | None:
    """Return the way to the collector, or end the process if its settings cannot work."""
    try:
        return find_collector(part, tell_dropped)
    except CollectorError as error:
        exit_with_error(str(error))


def tell_dropped(count: int) -> None:
    """Count and log spans that did not reach the collector."""
    metrics.SPANS_DROPPED.inc(count)
    log.warning("spans_dropped", count=count, hint="is the collector up? nothing else is lost")
