"""python -m extras.aggregator: sum groups until asked to stop, and replay what was left open."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial

import structlog
from confluent_kafka import Consumer, KafkaException, TopicPartition
from sqlalchemy import Engine

from extras.aggregator.group import Partition
from extras.aggregator.handler import States, Steps, handle
from extras.aggregator.names import INPUT_TOPIC, TOTALLED, UNRECOVERABLE
from extras.aggregator.replay import keep_replaying, replay
from extras.aggregator.settings import Settings
from extras.aggregator.store import find_first, load_states, track
from extras.aggregator.topic_reader import read_between
from extras.aggregator.write import write
from service.consumer import RecordConsumer
from service.database import connect_to
from service.health import serve_health
from service.logs import configure_logs
from service.metrics import ABANDONED
from service.outage import AbandonedError, OutageError, Retry
from service.record import Record
from service.settings import Settings as ServiceSettings
from service.start import claim_event_types
from service.stop import Stop, leaving
from service.watch import keep_watching

log = structlog.get_logger()
Wire = Callable[[Settings, Engine, RecordConsumer], Steps]


def wire(settings: Settings, engine: Engine, consumer: RecordConsumer) -> Steps:
    """Return the real steps of a batch, each of which waits until an outage is over."""
    service = settings.service()
    retry = Retry(consumer.idle, service.retry_first_seconds, service.retry_cap_seconds)
    return Steps(
        load_states=retry.wrap("stand", partial(load_checked, engine, consumer.consumer)),
        track=retry.wrap("track", partial(track, engine, service.subscriber)),
        write=retry.wrap("write", partial(write, engine, service.subscriber)),
        commit=retry.wrap("commit", consumer.commit),
    )


def load_checked(engine: Engine, consumer: Consumer, partitions: set[Partition]) -> States:
    """Return the states of these partitions, none of which may be beyond the partition's end.

    Else every new record would be skipped as an old one.
    """
    states = load_states(engine, partitions)
    for (topic, number), state in states.items():
        end = end_offset(consumer, topic, number)
        if end < state.position:
            raise SystemExit(
                f"aggregator: {topic}/{number} ends at {end}, but is summed up to "
                f"{state.position}: was the topic made again? Delete its rows of open_batch and "
                "batch_position, and start again."
            )
    return states


def end_offset(consumer: Consumer, topic: str, number: int) -> int:
    """Return where a partition ends."""
    asked = TopicPartition(topic, number)
    try:
        found = consumer.get_watermark_offsets(asked, timeout=30)
    except KafkaException as failure:
        reason = failure.args[0].str()
        raise OutageError(f"end of {topic}/{number}: {reason}") from failure
    if found is None:
        return 0
    _, end = found
    return end


def run(consumer: RecordConsumer, steps: Steps, stopping: threading.Event) -> None:
    """Handle batch after batch; the sums are in this process alone, and end with it."""
    states: States = {}
    while not stopping.is_set():
        records: list[Record] = []
        try:
            records = consumer.gather()
            if records:
                handle(records, steps, states)
        except AbandonedError as reason:
            ABANDONED.inc()
            log.warning("abandoned", records=len(records), reason=str(reason))
            consumer.rewind(records)


def make_replay(
    settings: Settings, service: ServiceSettings, engine: Engine, stopping: threading.Event
) -> Callable[[], None]:
    """Return one look of the replayer, with everything that it needs."""
    return partial(
        replay,
        engine,
        partial(read_between, service.kafka(), stopping.is_set),
        partial(find_first, engine, service.subscriber),
        service.input_topic,
        settings.open_too_long_seconds,
    )


def prepare(service: ServiceSettings, engine: Engine, consumer: RecordConsumer) -> None:
    """Claim the events that end a group, or end the process if another subscriber has them."""
    retry = Retry(consumer.idle, service.retry_first_seconds, service.retry_cap_seconds)
    claim = partial(
        claim_event_types, setting="AGGREGATOR_GROUP_ID", file="extras/aggregator/names.py"
    )
    retry.wrap("start", claim)(engine, service.subscriber, [TOTALLED, UNRECOVERABLE])


def main(wire: Wire = wire, topic: str = INPUT_TOPIC) -> None:
    """Run until SIGTERM, with the replayer in a thread of its own; if one fails, both end."""
    settings = Settings()
    service = settings.service(topic)
    configure_logs(service.log_level)
    stop = Stop(service.stop_seconds)
    stop.listen()
    stopping = stop.asked
    engine = connect_to(
        service.database_url, service.database_password_file, service.database_timeout_seconds
    )
    consumer = RecordConsumer(service, stopping.is_set)
    serve_health(service, engine, consumer)
    with suppress(AbandonedError):
        prepare(service, engine, consumer)
    replay_once = make_replay(settings, service, engine, stopping)
    with ThreadPoolExecutor(1, "replay") as threads:
        keep_watching(consumer)
        replaying = threads.submit(keep_replaying, replay_once, settings.replay_seconds, stopping)
        replaying.add_done_callback(lambda _: stopping.set())
        try:
            with leaving(consumer, stop):
                run(consumer, wire(settings, engine, consumer), stopping)
        finally:
            stopping.set()
    replaying.result()
    log.info("stopped")


if __name__ == "__main__":
    main()
