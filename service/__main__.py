"""python -m service: handle orders until asked to stop, with the settings of the environment."""

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

import structlog
from sqlalchemy import Engine

from access.kafka_admin import Admin
from contract.events import EVENTS, Event
from service import refusals
from service.auditing import make_audit_steps
from service.buried import Buried
from service.consumer import RecordConsumer
from service.database import connect_to, exit_if_missing
from service.dedup import DedupStore, Handled, load_store
from service.handler import Steps, handle, trace_nothing
from service.health import serve_health
from service.judge import Judge
from service.logs import configure_logs
from service.metrics import ABANDONED
from service.outage import MOMENT, AbandonedError, OutageError, RefusedError, Retry, in_pieces
from service.parking import Parking, find_parking
from service.pulse import handle_past_pulses, publish_pulses
from service.record import Item, Record, read
from service.refusals import Limits, find_given_up, may_give_up
from service.settings import Settings
from service.spans import find_spans
from service.start import prepare
from service.stop import Stop, leaving
from service.watch import keep_watching
from service.write import RULE, Rule, try_out, write

log = structlog.get_logger()


def wire(settings: Settings, engine: Engine, consumer: RecordConsumer, rule: Rule = RULE) -> Steps:
    """Return the real steps of a batch; each waits until an outage is over."""
    subscriber = settings.subscriber
    make_store = load_store(settings.dedup_store).make_store
    store: DedupStore = make_store(partial(write, engine, subscriber, rule=rule))
    look_for_tables(engine, store)
    retry = Retry(consumer.idle, settings.retry_first_seconds, settings.retry_cap_seconds)
    poll = partial(consumer.idle, MOMENT)
    trial: DedupStore = make_store(partial(try_out, engine, subscriber, rule=rule))
    limits = Limits(settings.refusal_limit, settings.refusal_window_seconds)
    judge = Judge(
        try_out=retry.wrap("probe", partial(probe, trial)),
        may_give_up=retry.wrap("refusal", partial(may_give_up, engine, subscriber, limits)),
        consumer=consumer,
        probe_seconds=settings.refusal_probe_seconds,
    )
    buried = Buried(
        read=partial(read, needs_sequence=store.needs_sequence),
        find=retry.wrap("refusal", partial(find_given_up, engine, subscriber, "database")),
        consumer=consumer,
        begin_try=retry.wrap("begin", consumer.begin_try),
    )
    audit = make_audit_steps(settings, engine, consumer, retry)
    spans = find_spans(subscriber)
    return Steps(
        write=retry.wrap("write", in_pieces(partial(claim, consumer, store, judge), poll)),
        post=audit.post,
        mark=audit.mark,
        commit=retry.wrap("commit", consumer.commit),
        settle=retry.wrap("settle", store.settle),
        read=spans.wrap(buried.read_again) if spans else buried.read_again,
        is_to_blame=judge.is_to_blame,
        poll=poll,
        wait=retry.wait,
        publish=retry.wrap("pulse", partial(publish, engine, consumer, subscriber)),
        trace=spans.report if spans else trace_nothing,
        repeat=audit.repeat,
    )


def claim(
    consumer: RecordConsumer, store: DedupStore, judge: Judge, items: Sequence[Item]
) -> dict[str, Handled]:
    """Write the items, if they are of the topic that we know, and let the judge see what passes."""
    consumer.confirm()
    known = store.claim(items)
    judge.remember(items, known)
    return known


def publish(
    engine: Engine, consumer: RecordConsumer, subscriber: str, pulses: Sequence[Record]
) -> None:
    """Write the events of pulses, if they are of the topic that we know."""
    consumer.confirm()
    publish_pulses(engine, subscriber, pulses)


def probe(store: DedupStore, items: Sequence[Item]) -> None:
    """Take the items through a store that takes its writes back."""
    store.claim(items)
    store.settle(items)


def look_for_tables(engine: Engine, store: DedupStore) -> None:
    """End the process now, and not with the first order, if a table is missing."""
    with suppress(OutageError, RefusedError), exit_if_missing():
        refusals.look(engine)
        store.claim([])


def run(
    consumer: RecordConsumer,
    steps: Steps,
    stopping: threading.Event,
    parking: Parking | None = None,
) -> None:
    """Gather and handle one batch after the other; when asked to stop, finish the batch first."""
    handle_messages = parking.handle_batch if parking else handle
    while not stopping.is_set():
        records: list[Record] = []
        try:
            records = consumer.gather()
            if records:
                handle_past_pulses(handle_messages, records, steps)
        except AbandonedError as reason:
            ABANDONED.inc()
            log.warning("abandoned", records=len(records), reason=str(reason))
            consumer.rewind(records)
        steps.repeat()
        if parking:
            parking.release(steps)


def main(
    wire: Callable[[Settings, Engine, RecordConsumer], Steps] = wire,
    settings: Settings | None = None,
    events: Sequence[Event] = EVENTS,
) -> None:
    """Run until SIGTERM. Another subscriber has its own steps, settings and events."""
    settings = settings or Settings()
    configure_logs(settings.log_level)
    stop = Stop(settings.stop_seconds)
    stop.listen()
    engine = connect_to(
        settings.database_url, settings.database_password_file, settings.database_timeout_seconds
    )
    consumer = RecordConsumer(settings, stop.asked.is_set)
    serve_health(settings, engine, consumer)
    keep_watching(consumer)
    admin = Admin(settings.kafka_bootstrap_servers)
    with leaving(consumer, stop):
        parking = None
        with suppress(AbandonedError):
            prepare(settings, engine, admin, consumer, events)
            parking = find_parking(settings, engine, consumer)
        run(consumer, wire(settings, engine, consumer), stop.asked, parking)
    log.info("stopped")


if __name__ == "__main__":
    main()
