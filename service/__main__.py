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
from service.write import mark, write

log = structlog.get_logger()


def wire(settings: Settings, engine: Engine, consumer: RecordConsumer) -> Steps:
    """The real steps of a batch, each with the patience to wait out an outage."""
    wrap = Retry(consumer.idle, settings.retry_first_seconds, settings.retry_cap_seconds).wrap
    store: DedupStore = load_store(settings.dedup_store).make_store(
        partial(write, engine, settings.subscriber)
    )
    with suppress(OutageError):  # an empty batch: tables that are not there are missed here and now
        store.claim([])
    return Steps(
        write=wrap("write", store.claim),
        post=wrap(
            "post", partial(post, session(), settings.audit_url, settings.audit_timeout_seconds)
        ),
        mark=wrap("mark", partial(mark, engine, settings.subscriber)),
        commit=wrap("commit", consumer.commit),
        settle=wrap("settle", store.settle),
        read=partial(read, needs_sequence=store.needs_sequence),
    )


def run(consumer: RecordConsumer, steps: Steps, stopping: threading.Event) -> None:
    """Gather a batch, handle it, and once more; asked to stop, finish the batch and leave the group."""
    with consumer.consumer:
        while not stopping.is_set():
            if records := consumer.gather():
                try:
                    handle(records, steps)
                except AbandonedError as reason:
                    ABANDONED.inc()
                    log.warning("abandoned", records=len(records), reason=str(reason))
                    consumer.rewind(records)
    log.info("stopped")


def main(wire: Callable[[Settings, Engine, RecordConsumer], Steps] = wire) -> None:
    """Run until SIGTERM; other wiring is for whoever tests a crash."""
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
    run(consumer, wire(settings, engine, consumer), stopping)


if __name__ == "__main__":
    main()
