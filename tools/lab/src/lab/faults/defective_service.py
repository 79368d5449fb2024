"""python -m lab.faults.defective_service DEFECT: the service with a defect that others published.

Each is built of the real steps, taken apart or put in another sequence, as such services do it.
"""

import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from confluent_kafka import Producer
from sqlalchemy import Engine, text

import service.__main__ as program
from contract.events import ACCEPTED
from lab.faults.points import Points
from service import write as writing
from service.consumer import RecordConsumer
from service.dedup import Handled
from service.handler import Steps
from service.ids import derive
from service.post import Entry
from service.record import Item, Message
from service.settings import Settings

Known = dict[str, Handled]
Build = Callable[[Settings, Engine, RecordConsumer, Steps], Steps]
POINT = "defect"  # where a worker is killed or frozen, in the gap that the defect leaves
GAP_SECONDS = 1.0  # more than a tick of the timer
EVERYTHING_IS_FRESH = "fresh as (select message_id from item where is_message)"
TRACK_WITHOUT_KEY = """
fresh as (
    insert into tracking (subscriber, message_id, value_sha256, topic, partition, "offset")
    select :subscriber, message_id, value_sha256, topic, partition, "offset"
    from item
    where is_message
    returning message_id
)
"""
FIND = "select message_id from tracking where subscriber = :subscriber and message_id = any(:ids)"
TRACK = """
    insert into tracking (subscriber, message_id, value_sha256, topic, partition, "offset")
    values (:subscriber, :message_id, decode(:sha256, 'hex'), :topic, :partition, :offset)
    on conflict do nothing
    returning message_id
"""


def points() -> Points:
    """Return the points of this process."""
    return Points(Path(os.environ["FAULT_POINTS"]))


def messages(items: Iterable[Item]) -> list[Message]:
    """Return the items that are messages."""
    return [item for item in items if isinstance(item, Message)]


def check_then_insert(
    settings: Settings, engine: Engine, _consumer: RecordConsumer, steps: Steps
) -> Steps:
    """Ask whether a message was handled before, and handle it if not: no key decides."""
    forgetful = writing.RULE._replace(known=writing.NOTHING)
    write = partial(writing.write, engine, settings.subscriber, TRACK_WITHOUT_KEY, rule=forgetful)

    def check_and_write(items: Sequence[Item]) -> Known:
        ids = [message.message_id for message in messages(items)]
        parameters = {"subscriber": settings.subscriber, "ids": ids}
        with engine.connect() as connection:
            known = set(connection.scalars(text(FIND), parameters))
        points().pass_by(POINT)
        return write([item for item in items if getattr(item, "message_id", "") not in known])

    return steps._replace(write=check_and_write)


def commit_first(
    _settings: Settings, _engine: Engine, _consumer: RecordConsumer, steps: Steps
) -> Steps:
    """Commit the offsets, then do the work."""

    def commit_and_write(items: Sequence[Item]) -> Known:
        steps.commit([item.record for item in items])
        points().pass_by(POINT)
        return steps.write(items)

    return steps._replace(write=commit_and_write, commit=lambda _records: None)


def track_apart(
    settings: Settings, engine: Engine, _consumer: RecordConsumer, steps: Steps
) -> Steps:
    """Write tracking in a transaction of its own, then the effect in another."""
    write = partial(writing.write, engine, settings.subscriber, EVERYTHING_IS_FRESH)

    def track_and_write(items: Sequence[Item]) -> Known:
        fresh = [item for item in messages(items) if track(engine, settings.subscriber, item)]
        points().pass_by(POINT)
        others = [item for item in items if item not in fresh]
        known = write(fresh) if fresh else {}
        return steps.write(others) | known if others else known

    return steps._replace(write=track_and_write)


def track(engine: Engine, subscriber: str, message: Message) -> bool:
    """Enter a message, and return whether it was not there."""
    parameters = {
        **message.record.place,
        "subscriber": subscriber,
        "message_id": message.message_id,
        "sha256": message.value_sha256,
    }
    with engine.connect() as connection:
        return connection.scalar(text(TRACK), parameters) is not None


def publish_within(
    settings: Settings, _engine: Engine, _consumer: RecordConsumer, steps: Steps
) -> Steps:
    """Publish each event before the transaction is committed, or rolled back."""
    producer = Producer({"bootstrap.servers": settings.kafka_bootstrap_servers})

    def publish_and_write(items: Sequence[Item]) -> Known:
        for message in messages(items):
            headers: list[tuple[str, str | bytes | None]] = [
                ("id", derive("event", message.message_id)),
                ("event_type", "order-fulfilled"),
            ]
            producer.produce("fulfillment.events", b"{}", message.record.key, headers=headers)
        producer.flush(10)
        return steps.write(items)

    return steps._replace(write=publish_and_write)


def post_within(
    _settings: Settings, _engine: Engine, _consumer: RecordConsumer, steps: Steps
) -> Steps:
    """Post each entry before the transaction is committed, or rolled back."""

    def post_and_write(items: Sequence[Item]) -> Known:
        entries = [Entry(message, ACCEPTED) for message in messages(items)]
        if entries:
            steps.post(entries)
        return steps.write(items)

    return steps._replace(write=post_and_write)


def random_ids(
    _settings: Settings, _engine: Engine, _consumer: RecordConsumer, steps: Steps
) -> Steps:
    """Give each event an id that cannot be derived again."""

    def derive_or_not(kind: str, source: str, *more: str) -> str:
        return str(uuid4()) if kind == "event" else derive(kind, source, *more)

    vars(writing)["derive"] = derive_or_not
    return steps


def commit_on_a_timer(
    _settings: Settings, _engine: Engine, _consumer: RecordConsumer, steps: Steps
) -> Steps:
    """Leave the offsets to the client's timer, which does not know the work."""

    def wait_and_write(items: Sequence[Item]) -> Known:
        time.sleep(GAP_SECONDS)
        points().pass_by(POINT)
        return steps.write(items)

    return steps._replace(write=wait_and_write, commit=lambda _records: None)


def skip_poison(
    _settings: Settings, _engine: Engine, _consumer: RecordConsumer, steps: Steps
) -> Steps:
    """Log a record that is no message, and go on."""

    def skip_and_write(items: Sequence[Any]) -> Known:
        good = messages(items)
        return steps.write(good) if good else {}

    return steps._replace(write=skip_and_write)


BUILDS: dict[str, Build] = {
    "check-then-insert": check_then_insert,
    "commit-first": commit_first,
    "track-apart": track_apart,
    "publish-within": publish_within,
    "post-within": post_within,
    "random-ids": random_ids,
    "commit-on-a-timer": commit_on_a_timer,
    "skip-poison": skip_poison,
}


class TimedSettings(Settings):
    """Settings of a client that commits by itself."""

    def kafka(self) -> dict[str, str | int | bool]:
        """Return the client's settings with its timer."""
        timer: dict[str, str | int | bool] = {
            "enable.auto.commit": True,
            "auto.commit.interval.ms": 100,
        }
        return super().kafka() | timer


def main(defect: str) -> None:
    """Run the service with this defect."""
    if defect == "commit-on-a-timer":
        vars(program)["Settings"] = TimedSettings

    def wire(settings: Settings, engine: Engine, consumer: RecordConsumer) -> Steps:
        steps = program.wire(settings, engine, consumer)
        return BUILDS[defect](settings, engine, consumer, steps)

    program.main(wire)


if __name__ == "__main__":
    main(sys.argv[1])
