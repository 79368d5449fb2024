"""Add orders to the tallies of their customers, in DynamoDB alone, until asked to stop."""

import argparse
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

import structlog

from access.kafka_admin import Admin
from extras.dynamodb.outbox.connection import connect
from extras.dynamodb.outbox.handler import Steps, handle
from extras.dynamodb.outbox.pages import Address, Health, serve
from extras.dynamodb.outbox.settings import Settings, load_settings
from extras.dynamodb.outbox.tables import refuse_tables
from extras.dynamodb.outbox.topics import refuse_topics
from extras.dynamodb.outbox.transaction import Writer
from service.consumer import RecordConsumer
from service.logs import configure_logs
from service.metrics import ABANDONED
from service.outage import MOMENT, AbandonedError, Retry
from service.record import Record
from service.stop import Stop, leaving
from service.watch import keep_watching

log = structlog.get_logger()

SILENT_SECONDS = 5.0  # a batch that takes longer polls in between


def wire(settings: Settings, consumer: RecordConsumer) -> Steps:
    """Return the real steps of a batch; each waits until an outage is over."""
    retry = Retry(consumer.idle, settings.retry_first_seconds, settings.retry_cap_seconds)
    writer = Writer(connect(settings).tables, settings)

    def poll() -> None:
        if time.monotonic() - consumer.last_poll > SILENT_SECONDS:
            consumer.idle(MOMENT)

    return Steps(
        confirm=retry.wrap("confirm", consumer.confirm),
        write=retry.wrap("write", writer.write),
        poll=poll,
        commit=retry.wrap("commit", consumer.commit),
    )


def prepare(settings: Settings, admin: Admin, consumer: RecordConsumer) -> None:
    """Make sure that topic and tables are there; an outage is waited out."""
    retry = Retry(consumer.idle, settings.retry_first_seconds, settings.retry_cap_seconds)
    check_topics = retry.wrap("start", refuse_topics)
    check_topics(admin, {"INPUT_TOPIC": settings.input_topic})
    names = [settings.tally_table, settings.tally_outbox_table, settings.tally_claim_table]
    tables = connect(settings).tables
    check_tables = retry.wrap("start", refuse_tables)
    check_tables(tables, settings, names)


def run(consumer: RecordConsumer, steps: Steps, stopping: threading.Event) -> None:
    """Gather and handle one batch after the other; when asked to stop, finish the batch first."""
    while not stopping.is_set():
        records: list[Record] = []
        try:
            records = consumer.gather()
            if records:
                handle(records, steps)
        except AbandonedError as reason:
            ABANDONED.inc()
            log.warning("abandoned", records=len(records), reason=str(reason))
            consumer.rewind(records)


def make_health(consumer: RecordConsumer) -> Health:
    """Return what is asked of the service: whether it polls, and whether records move."""
    settings = consumer.settings

    def too_silent(longest: float) -> str:
        silence = time.monotonic() - consumer.last_poll
        return f"the last poll was {silence:.0f} seconds ago" if silence > longest else ""

    def reason_not_ready() -> str:
        if not consumer.progress.broker_answers:
            return "the broker does not answer"
        stuck = consumer.progress.stuck(consumer.topic, settings.stuck_seconds)
        return too_silent(settings.poll_recent_seconds) or stuck

    return Health(lambda: too_silent(settings.max_poll_interval_ms / 1000), reason_not_ready)


def main(
    wire: Callable[[Settings, RecordConsumer], Steps] = wire,
    arguments: Sequence[str] | None = None,
) -> None:
    """Run until SIGTERM."""
    parser = argparse.ArgumentParser(prog="python -m extras.dynamodb.outbox", description=__doc__)
    parser.parse_args(arguments)
    settings = load_settings()
    configure_logs(settings.log_level)
    stop = Stop(settings.stop_seconds)
    stop.listen()
    consumer = RecordConsumer(settings.consumer(), stop.asked.is_set)
    serve(Address("TALLY_PORT", settings.tally_host, settings.tally_port), make_health(consumer))
    keep_watching(consumer)
    admin = Admin(settings.kafka_bootstrap_servers)
    with leaving(consumer, stop), suppress(AbandonedError):
        prepare(settings, admin, consumer)
        run(consumer, wire(settings, consumer), stop.asked)
    log.info("stopped")


if __name__ == "__main__":
    main()
