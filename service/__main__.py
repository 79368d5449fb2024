"""python -m service: handle orders until asked to stop, with the settings of the environment."""

import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import structlog
from sqlalchemy import Engine

from service.consumer import RecordConsumer
from service.database import connect_to
from service.dedup import DedupStore, load_store
from service.handler import Steps, handle
from service.health import serve_health
from service.logs import configure_logs
from service.metrics import ABANDONED
from service.outage import AbandonedError, OutageError, Retry
from service.post import post, session
from service.record import read
from service.settings import Settings
from service.start import prepare
from service.write import mark, write

log = structlog.get_logger()


def wire(settings: Settings, engine: Engine, consumer: RecordConsumer) -> Steps:
    """Return the real steps of a batch; each waits until an outage is over."""
    subscriber = settings.subscriber
    make_store = load_store(settings.dedup_store).make_store
    store: DedupStore = make_store(partial(write, engine, subscriber))
    with suppress(OutageError):
        store.claim([])  # a table that is missing ends the process now, not with the first order
    send = partial(
        post,
        session(),
        settings.audit_url,
        settings.audit_timeout_seconds,
        subscriber=subscriber,
    )
    retry = Retry(consumer.idle, settings.retry_first_seconds, settings.retry_cap_seconds)
    return Steps(
        write=retry.wrap("write", store.claim),
        post=retry.wrap("post", send),
        mark=retry.wrap("mark", partial(mark, engine, subscriber)),
        commit=retry.wrap("commit", consumer.commit),
        settle=retry.wrap("settle", store.settle),
        read=partial(read, needs_sequence=store.needs_sequence),
    )


def run(consumer: RecordConsumer, steps: Steps, stopping: threading.Event) -> None:
    """Gather and handle one batch after the other; when asked to stop, finish the batch first."""
    while not stopping.is_set():
        records = consumer.gather()
        if not records:
            continue
        try:
            handle(records, steps)
        except AbandonedError as reason:
            ABANDONED.inc()
            log.warning("abandoned", records=len(records), reason=str(reason))
            consumer.rewind(records)


def main(wire: Callable[[Settings, Engine, RecordConsumer], Steps] = wire) -> None:
    """Run until SIGTERM. Tests of a crash wire the steps in their own way."""
    settings = Settings()
    configure_logs(settings.log_level)
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    engine = connect_to(
        settings.database_url, settings.database_password_file, settings.database_timeout_seconds
    )
    consumer = RecordConsumer(settings, stopping.is_set)
    serve_health(settings, engine, consumer)
    with consumer.consumer:
        with suppress(AbandonedError):
            prepare(settings, engine, consumer)
        run(consumer, wire(settings, engine, consumer), stopping)
    log.info("stopped")


if __name__ == "__main__":
    main()
