"""python -m extras.aggregator: sum batches until asked to stop, and replay what was left open."""

import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import structlog
from confluent_kafka import Consumer, KafkaException, TopicPartition
from sqlalchemy import Engine

from extras.aggregator.group import Place
from extras.aggregator.live import Standings, Steps, handle
from extras.aggregator.log import read_between
from extras.aggregator.replay import keep_replaying, replay
from extras.aggregator.settings import Settings
from extras.aggregator.store import known, stand, track
from extras.aggregator.write import write
from service.consumer import RecordConsumer
from service.database import connect_to
from service.health import serve_health
from service.logs import configure_logs
from service.metrics import ABANDONED
from service.outage import AbandonedError, OutageError, Retry

log = structlog.get_logger()


def wire(settings: Settings, engine: Engine, consumer: RecordConsumer) -> Steps:
    """The real steps of a batch, each with the patience to wait out an outage."""
    service = settings.service()
    wrap = Retry(consumer.idle, service.retry_first_seconds, service.retry_cap_seconds).wrap
    return Steps(
        stand=wrap("stand", partial(stand_within, engine, consumer.consumer)),
        track=wrap("track", partial(track, engine, service.subscriber)),
        write=wrap("write", partial(write, engine)),
        commit=wrap("commit", consumer.commit),
    )


def stand_within(engine: Engine, consumer: Consumer, places: set[Place]) -> Standings:
    """Where partitions stand; not beyond their end, where every new record would be skipped as an old one."""
    found = stand(engine, places)
    for (topic, partition), standing in found.items():
        try:
            _, end = consumer.get_watermark_offsets(
                TopicPartition(topic, partition), timeout=30
            ) or (0, 0)
        except KafkaException as failure:
            raise OutageError(f"end of {topic}/{partition}: {failure.args[0].str()}") from failure
        if end < standing.position:
            raise SystemExit(
                f"aggregator: {topic}/{partition} ends at {end}, but is summed up to {standing.position}: was the "
                "topic made anew? Delete its rows of open_batch and batch_position, and start again."
            )
    return found


def run(consumer: RecordConsumer, steps: Steps, stopping: threading.Event) -> None:
    """Gather a batch, handle it, and once more; the sums live here, and die with us."""
    standings: Standings = {}
    with consumer.consumer:
        while not stopping.is_set():
            if records := consumer.gather():
                try:
                    handle(records, steps, standings)
                except AbandonedError as reason:
                    ABANDONED.inc()
                    log.warning("abandoned", records=len(records), reason=str(reason))
                    consumer.rewind(records)


def main(wire: Callable[[Settings, Engine, RecordConsumer], Steps] = wire) -> None:
    """Run until SIGTERM, with the replayer in a thread beside; when one of them fails, both end."""
    settings, stopping = Settings(), threading.Event()
    service = settings.service()
    configure_logs(service.log_level)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    engine = connect_to(
        service.database_url, service.database_password_file, service.database_timeout_seconds
    )
    again = partial(read_between, service.kafka(), stopping.is_set)
    lookup, topic = partial(known, engine, service.subscriber), settings.batch_topic
    once = partial(replay, engine, again, lookup, topic, settings.open_too_long_seconds)
    with ThreadPoolExecutor(1, "replay") as threads:
        consumer = RecordConsumer(service, stopping.is_set)
        serve_health(service, engine, consumer)
        replaying = threads.submit(keep_replaying, once, settings.replay_seconds, stopping)
        replaying.add_done_callback(lambda _: stopping.set())
        try:
            run(consumer, wire(settings, engine, consumer), stopping)
        finally:
            stopping.set()
    replaying.result()
    log.info("stopped")


if __name__ == "__main__":
    main()
