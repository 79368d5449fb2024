"""Spans of entries that were recorded, for those that came in a sampled trace."""

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from access.collector import Collector, Span
from service.audit.entry import Entry
from service.ids import span_id_of
from service.spans import find_or_exit


class Spans(NamedTuple):
    """What the receiver hands to a collector, if there is one."""

    collector: Collector | None = None

    def enter(self, entries: Iterable[Entry]) -> list[Entry]:
        """Return the entries, each that has a sampled trace within its own span."""
        if self.collector is None:
            return list(entries)
        return [enter(entry) for entry in entries]

    def report(self, recorded: Sequence[Entry], begun: int) -> None:
        """Hand in the spans of entries that were recorded just now."""
        if self.collector:
            self.collector.take(make_spans(recorded, begun))


def enter(entry: Entry) -> Entry:
    """Return an entry so that its event comes of its own span, if its trace is sampled."""
    trace = entry.trace
    if trace is None or not trace.is_sampled:
        return entry
    span_id = span_id_of(entry.answer["audit_entry_id"])
    return entry._replace(trace=trace.within(span_id), caused_by=trace.span_id)


def make_spans(entries: Sequence[Entry], begun: int) -> Iterator[Span]:
    """Yield the span of each entry that has one."""
    for entry in entries:
        if entry.trace is None or entry.caused_by is None:
            continue
        yield Span(
            name="record audit entry",
            kind="server",
            trace_id=entry.trace.trace_id,
            span_id=entry.trace.span_id,
            parent_id=entry.caused_by,
            begun=begun,
            ended=time.time_ns(),
            attributes={
                "messaging.message.id": entry.body["message_id"],
                "idempotency_key": entry.idempotency_key,
            },
        )


def find_spans() -> Spans:
    """Return where spans go, if a setting names a collector."""
    return Spans(find_or_exit("audit"))
