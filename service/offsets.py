"""Show where the group stands in the input topic, and where it cannot go on by itself.

With --accept-loss it goes on there, at the first record that the topic still has.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from confluent_kafka import Consumer, KafkaException, TopicPartition
from sqlalchemy import Engine

from access.kafka_admin import Admin
from service.database import connect_to
from service.input_topic import (
    InputTopic,
    find_lost,
    find_seen,
    find_topic_id,
    note_partitions,
    note_topic,
)
from service.kafka_errors import classify_errors, raise_first_error
from service.logs import exit_with_error
from service.outage import OutageError
from service.settings import Settings
from service.start import KAFKA_SECONDS, find_partitions


@dataclass
class Place:
    """Where the group is in a partition."""

    partition: int
    committed: int | None
    first: int  # the first record that is there
    end: int
    problem: str = ""  # why the group cannot go on
    accepted: bool = False


def main() -> None:
    """Exit with 0 if the group can go on, 1 if it cannot, 2 if that could not be found out."""
    parser = argparse.ArgumentParser(prog="python -m service.offsets", description=__doc__)
    parser.add_argument("--accept-loss", action="store_true", help="what is gone is gone: go on")
    parser.add_argument("--json", action="store_true", help="for programs")
    asked = parser.parse_args()
    settings = Settings(group_instance_id=None)
    engine = connect_to(
        settings.database_url, settings.database_password_file, settings.database_timeout_seconds
    )
    try:
        # check: ignore[consumer-not-seen] the service's settings, judged there
        with Consumer(settings.kafka()) as consumer:
            topic, places = look(settings, engine, consumer)
            if asked.accept_loss:
                accept_loss(settings, engine, consumer, topic, places)
    except OutageError as outage:
        exit_with_error(f"could not look: {outage}")
    if asked.json:
        text = json.dumps([asdict(place) for place in places])
    else:
        text = "\n".join(describe(settings.input_topic, place) for place in places)
    print(text)  # noqa: T201 - the answer
    can_go_on = all(place.accepted or not place.problem for place in places)
    sys.exit(0 if can_go_on else 1)


def look(settings: Settings, engine: Engine, consumer: Consumer) -> tuple[InputTopic, list[Place]]:
    """Return the topic that is there now, and where the group is in each of its partitions."""
    admin = Admin(settings.kafka_bootstrap_servers)
    seen = find_seen(engine, settings)
    topic = seen.name(find_topic_id(admin, settings))
    with classify_errors(settings, "Kafka"):
        partitions = find_partitions(consumer, settings.input_topic)
        places = find_places(consumer, partitions)
    uncommitted = [place.partition for place in places if place.committed is None]
    lost = find_lost(engine, settings, topic.name, uncommitted)
    is_other = seen.is_other(topic.topic_id)
    for place in places:
        place.problem = find_problem(place, lost, is_other=is_other)
    return topic, places


def find_places(consumer: Consumer, partitions: list[TopicPartition]) -> list[Place]:
    """Return what the group has committed in these partitions, and what they hold."""
    committed = consumer.committed(partitions, timeout=KAFKA_SECONDS)
    raise_first_error(committed)
    places = []
    for part in committed:
        watermarks = consumer.get_watermark_offsets(part, timeout=KAFKA_SECONDS)
        first, end = watermarks or (0, 0)
        offset = part.offset if part.offset >= 0 else None
        places.append(Place(part.partition, offset, first, end))
    return places


def find_problem(place: Place, lost: Sequence[int], *, is_other: bool) -> str:
    """Return why the group cannot go on in a partition, or nothing."""
    if is_other:
        return "the topic was created again: what was not handled of the earlier one is lost"
    if place.committed is None:
        if place.partition not in lost:
            return ""
        return f"its offset is lost: what was not handled and came before {place.first} is lost"
    if place.committed < place.first:
        return f"the records from {place.committed} to {place.first - 1} are gone"
    if place.committed > place.end:
        return "its offset is beyond the end: the topic has lost records, or is another one"
    return ""


def accept_loss(
    settings: Settings,
    engine: Engine,
    consumer: Consumer,
    topic: InputTopic,
    places: Sequence[Place],
) -> None:
    """Let the group go on at the first record, wherever it cannot go on by itself."""
    bad = [place for place in places if place.problem]
    if not bad:
        return
    offsets = [TopicPartition(topic.topic, place.partition, place.first) for place in bad]
    try:
        raise_first_error(consumer.commit(offsets=offsets, asynchronous=False) or [])
    except KafkaException as failure:
        reason = failure.args[0].str()
        exit_with_error(
            f"the offsets of group {settings.group_id} were not set ({reason}):"
            " stop every process of the group first"
        )
    note_topic(engine, topic)
    note_partitions(engine, settings.group_id, topic.name, [place.partition for place in bad])
    for place in bad:
        place.accepted = True


def describe(topic: str, place: Place) -> str:
    """Return a partition as a line for people."""
    at = "no offset" if place.committed is None else f"offset {place.committed}"
    line = f"{topic}/{place.partition}: {at}, the topic has {place.first} to {place.end}"
    if place.problem:
        line += f"; {place.problem}"
    if place.accepted:
        line += f"; accepted, the group goes on at {place.first}"
    return line


if __name__ == "__main__":
    main()
