"""The wiring: which function stands behind each step of a batch."""

import time
from functools import partial

from sqlalchemy import Engine

from service.consumer import OrderConsumer
from service.database import connect_to, is_reachable
from service.handler import Steps
from service.health import serve_health
from service.mark import mark
from service.patience import Patience
from service.post import post, session
from service.settings import Settings
from service.store import write


def engine_of(settings: Settings) -> Engine:
    """The way to the service's own database."""
    return connect_to(settings.database_url, settings.database_password_file, settings.database_timeout_seconds)


def wire(settings: Settings, engine: Engine, consumer: OrderConsumer) -> Steps:
    """The real steps of a batch, each with the patience to wait out an outage."""
    around = Patience(consumer.idle, settings.retry_first_seconds, settings.retry_cap_seconds).around
    return Steps(
        write=around("write", partial(write, engine, settings.subscriber)),
        post=around("post", partial(post, session(), settings.audit_url, settings.audit_timeout_seconds)),
        mark=around("mark", partial(mark, engine, settings.subscriber)),
        commit=around("commit", consumer.commit),
    )


def serve(settings: Settings, engine: Engine, consumer: OrderConsumer) -> None:
    """Health and metrics of this consumer and this database."""

    def silence() -> float:
        return time.monotonic() - consumer.last_poll

    def why_not_ready() -> str:
        if silence() > settings.poll_recent_seconds:
            return f"the last poll was {silence():.0f} seconds ago"
        return "" if is_reachable(engine) else "the database does not answer"

    alive_seconds = settings.max_poll_interval_ms / 1000
    address = (settings.service_host, settings.service_port)
    serve_health(address, lambda: silence() < alive_seconds, why_not_ready)
