"""Publish the events of the outbox from its stream, until asked to stop."""

import argparse
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple

import structlog

from access.kafka_admin import Admin
from extras.dynamodb.outbox import metrics
from extras.dynamodb.outbox.connection import Clients, classify_errors, connect
from extras.dynamodb.outbox.event import Event, from_item
from extras.dynamodb.outbox.leases import FencedError, Known, Leases
from extras.dynamodb.outbox.pages import Address, Health, serve
from extras.dynamodb.outbox.publish import Publisher, make_publisher
from extras.dynamodb.outbox.settings import Settings, load_settings
from extras.dynamodb.outbox.shards import (
    Lease,
    LostRecordsError,
    Shard,
    find_readable,
    find_roots,
)
from extras.dynamodb.outbox.stream import Page, Stream, find_stream
from extras.dynamodb.outbox.tables import refuse_tables
from extras.dynamodb.outbox.topics import refuse_topics
from service.logs import configure_logs, exit_with_error
from service.outage import AbandonedError, Retry
from service.stop import Stop

log = structlog.get_logger()

PROGRAM = "python -m extras.dynamodb.outbox.relay"
PAGES_AT_ONCE = 10  # of a shard; then the others have their turn
SCAN_EVENTS = 500
SILENT_SECONDS = 60.0  # above the longest turn: ten pages, each of which the broker takes slowly
LOST = (
    "relay: {what}. Events that were not sent may be gone from the stream, but not from the table:"
    f" `{PROGRAM} --scan` sends every event of the table again, under the same ids. Then start the"
    " relay again."
)
LONGEST_AWAY_SECONDS = 20 * 3600.0  # records are kept for 24 hours; clocks may differ by the rest


class Steps(NamedTuple):
    """What a relay does to the world. Each step may be repeated: ids stay the same."""

    list_shards: Callable[[], list[Shard]]
    know: Callable[[], Known]
    take: Callable[[str, Known], Lease | None]
    read: Callable[[Lease], Page]
    publish: Callable[[Sequence[Event]], None]
    advance: Callable[[Lease, Page], Lease]
    note_turn: Callable[[Known], None]


class Relay:
    """Turn after turn, each shard that is free some pages further."""

    def __init__(self, stream: Stream, leases: Leases, steps: Steps) -> None:
        self.stream = stream
        self.leases = leases
        self.steps = steps
        self.last_turn = time.monotonic()

    def turn(self) -> int:
        """Take each shard further that is ours or free, and return how many events were sent."""
        # In this sequence: what another relay has noted meanwhile is never missing on our list.
        known = self.steps.know()
        listed = self.steps.list_shards()
        if known.stream is None:
            self.begin(listed)
            return 0
        refuse_gap(known, self.stream.stream)
        sent = 0
        for shard_id in find_readable(listed, known.leases):
            lease = self.steps.take(shard_id, known)
            if lease:
                sent += self.relay(lease)
        self.steps.note_turn(known)
        self.last_turn = time.monotonic()
        return sent

    def begin(self, listed: Sequence[Shard]) -> None:
        """Begin with the oldest shards that are there; from now on, what is gone is lost.

        Nobody has promised anything about what was in the stream before.
        """
        roots = find_roots(listed)
        for shard in listed:
            is_gone = not self.stream.can_read(shard)
            if is_gone or shard in roots:
                self.leases.begin(shard.shard_id, is_done=is_gone)
        self.leases.note_stream(self.stream.stream)
        log.info("begun", shards=len(listed))

    def relay(self, lease: Lease) -> int:
        """Send the next pages of a shard, and return how many events that were."""
        sent = 0
        try:
            for _ in range(PAGES_AT_ONCE):
                page = self.steps.read(lease)
                self.steps.publish(page.events)
                lease = self.steps.advance(lease, page)
                self.stream.go_on(lease, page)
                sent += len(page.events)
                if lease.is_done or not page.events:
                    break
        except FencedError:
            metrics.FENCED.inc()
            log.warning("fenced", shard=lease.shard_id)
        return sent


def refuse_gap(known: Known, stream: str) -> None:
    """Raise a LostRecordsError if what came since the last turn may not be in the stream any more.

    A shard that no relay has begun has no checkpoint that could be found missing.
    """
    if known.stream != stream:
        raise LostRecordsError("the outbox has another stream than before")
    if known.away_seconds > LONGEST_AWAY_SECONDS:
        hours = known.away_seconds / 3600
        raise LostRecordsError(f"no relay has gone through the stream for {hours:.0f} hours")


def advance(leases: Leases, lease: Lease, page: Page) -> Lease:
    """Note that a page was sent, and at the end of a closed shard that it is done."""
    is_done = page.next_iterator is None
    return leases.advance(lease, page.checkpoint, is_done=is_done)


def wire(stream: Stream, leases: Leases, publisher: Publisher) -> Steps:
    """Return the real steps."""
    return Steps(
        list_shards=stream.list_shards,
        know=leases.read,
        take=leases.take,
        read=stream.read,
        publish=publisher.publish,
        advance=partial(advance, leases),
        note_turn=leases.note_turn,
    )


def run(relay: Relay, retry: Retry, pause_seconds: float, stopping: threading.Event) -> None:
    """Take one turn after the other; a turn that an outage ends is taken again."""
    turn = retry.wrap("turn", relay.turn)
    while not stopping.is_set():
        sent = turn()
        if not sent:
            stopping.wait(pause_seconds)


def scan(clients: Clients, settings: Settings) -> Iterator[list[Event]]:
    """Yield every event of the table, some at a time."""
    paginator = clients.tables.get_paginator("scan")
    pages = paginator.paginate(
        TableName=settings.tally_outbox_table,
        ConsistentRead=True,
        PaginationConfig={"PageSize": SCAN_EVENTS},
    )
    with classify_errors():
        for page in pages:
            yield [from_item(item) for item in page["Items"]]


def send_all(clients: Clients, settings: Settings, publisher: Publisher, leases: Leases) -> int:
    """Send every event of the table again, then let the relay begin anew; return how many."""
    sent = 0
    for events in scan(clients, settings):
        publisher.publish(events)
        sent += len(events)
    leases.forget()
    return sent


def prepare(clients: Clients, settings: Settings, retry: Retry) -> str:
    """Make sure that topics, tables and stream are there; return the stream."""
    admin = Admin(settings.kafka_bootstrap_servers)
    topics = {
        "TALLY_TOPIC": settings.tally_topic,
        "TALLY_DEAD_LETTER_TOPIC": settings.tally_dead_letter_topic,
    }
    tables = [settings.tally_outbox_table, settings.tally_shard_table]
    retry.wrap("start", refuse_topics)(admin, topics)
    retry.wrap("start", refuse_tables)(clients.tables, settings, tables)
    return retry.wrap("start", find_stream)(clients, settings)


def make_retry(settings: Settings, stop: Stop) -> Retry:
    """Return what waits out an outage, unless the process is asked to stop meanwhile."""

    def idle(seconds: float) -> None:
        if stop.asked.wait(seconds):
            raise AbandonedError("stopping")

    return Retry(idle, settings.retry_first_seconds, settings.retry_cap_seconds)


def make_health(relay: Relay) -> Health:
    """Return what is asked of a relay: whether it takes turns, also when another has the shards."""

    def reason() -> str:
        silence = time.monotonic() - relay.last_turn
        return f"the last turn was {silence:.0f} seconds ago" if silence > SILENT_SECONDS else ""

    return Health(lambda: "", reason)


def main(
    wire: Callable[[Stream, Leases, Publisher], Steps] = wire,
    arguments: Sequence[str] | None = None,
) -> None:
    """Run until SIGTERM, or send everything once."""
    parser = argparse.ArgumentParser(prog=PROGRAM, description=__doc__)
    parser.add_argument(
        "--scan",
        action="store_true",
        help="send every event of the table again, whatever the stream still has, and end",
    )
    asked = parser.parse_args(arguments)
    settings = load_settings()
    configure_logs(settings.log_level)
    stop = Stop(settings.stop_seconds)
    stop.listen()
    clients = connect(settings)
    retry = make_retry(settings, stop)
    publisher = make_publisher(settings)
    leases = Leases(clients.tables, settings)
    with suppress(AbandonedError):
        stream_arn = prepare(clients, settings, retry)
        if asked.scan:
            sent = retry.wrap("scan", send_all)(clients, settings, publisher, leases)
            print(f"{sent} events sent again")  # noqa: T201 - the answer
            return
        stream = Stream(clients.streams, stream_arn, settings.relay_records)
        relay = Relay(stream, leases, wire(stream, leases, publisher))
        address = Address("RELAY_PORT", settings.relay_host, settings.relay_port)
        serve(address, make_health(relay))
        try:
            run(relay, retry, settings.relay_pause_seconds, stop.asked)
        except LostRecordsError as lost:
            exit_with_error(LOST.format(what=lost))
    log.info("stopped")


if __name__ == "__main__":
    main()
