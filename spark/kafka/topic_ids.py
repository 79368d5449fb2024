"""Which topics have landed: one that was deleted and created again is another one.

It has the same name, and its offsets begin at zero again. The rows of the first one are called by
that name, as ever, and those of a later one by topic@id, as the service calls them too. They are in
one table, and none of them is taken for another.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from confluent_kafka import TopicCollection
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession

from access.kafka_admin import wait_for
from spark.kafka.positions import BROKER_TIMEOUT_SECONDS, kafka_topic
from spark.session import exit_with_error, locate, make_frame

SCHEMA = "topic string, topic_id string, name string, seen_at timestamp"
URL_SAFE = str.maketrans("/+", "_-")  # as Kafka's own tools write ids; a slash ends a name

TopicIds = Mapping[str, str]  # by topic
Names = dict[str, str]  # what the rows of each topic are called
Seen = dict[str, Names]  # of each topic: that name by topic id, the latest last


class Later(NamedTuple):
    """A topic that was created again."""

    topic: str
    topic_id: str

    def __str__(self) -> str:
        """Return what its rows are called, and how it is named on the command line."""
        return f"{self.topic}@{self.topic_id}"


class RecreatedError(Exception):
    """A topic was created again while it landed."""


def parse_later(text: str) -> Later | None:
    """Return the topic that --accept-loss names, if it names one."""
    match = re.fullmatch(r"([\w.-]+)@([\w-]+)", text)
    return Later(*match.groups()) if match else None


def find_topic_ids(admin: AdminClient, topics: Iterable[str]) -> dict[str, str]:
    """Return the id of each topic that is there now."""
    asked = TopicCollection(list(topics))
    answers = admin.describe_topics(asked, request_timeout=BROKER_TIMEOUT_SECONDS)
    topic_ids = {}
    for topic, answer in answers.items():
        found = wait_for(answer, 2 * BROKER_TIMEOUT_SECONDS)
        topic_ids[topic] = str(found.topic_id).translate(URL_SAFE)
    return topic_ids


def confirm(admin: AdminClient, expected: TopicIds) -> None:
    """Raise an error if one of these topics was created again.

    Asked after a batch was read, it says whose records these are: an id that is gone never comes
    back.
    """
    if find_topic_ids(admin, expected) != expected:
        raise RecreatedError


def find_later(seen: Seen, topic_ids: TopicIds) -> list[Later]:
    """Return the topics that were created again since they landed, and that nobody accepted."""
    return [
        Later(topic, topic_id)
        for topic, topic_id in topic_ids.items()
        if topic in seen and topic_id not in seen[topic]
    ]


def refuse_later(seen: Seen, topic_ids: TopicIds) -> None:
    """End the job if a topic was created again, with what may be lost and what to do."""
    later = find_later(seen, topic_ids)
    if later:
        names = ", ".join(map(str, later))
        options = " ".join(f"--accept-loss {one}" for one in later)
        exit_with_error(
            f"deleted and created again since it landed: {names}. What the earlier topic had that"
            " did not land is lost. Nothing lands until somebody has looked for it elsewhere and"
            f" accepts it: land {options}"
        )


def refuse_other_topics(named: Iterable[Later], seen: Seen, topic_ids: TopicIds) -> None:
    """End the job if one of those that somebody names was not created again."""
    later = find_later(seen, topic_ids)
    for one in named:
        if one not in later:
            names = ", ".join(map(str, later)) or "nothing"
            exit_with_error(f"{one} was not created again since it landed; what was: {names}")


def name_topics(seen: Seen, topic_ids: TopicIds) -> Names:
    """Return what the rows of the topics that are there now are called."""
    names = {}
    for topic, topic_id in topic_ids.items():
        known = seen.get(topic, {})
        first_name = str(Later(topic, topic_id)) if known else topic
        names[topic] = known.get(topic_id, first_name)
    return names


def latest_names(seen: Seen) -> Names:
    """Return what the rows of each topic are called that landed last."""
    return {topic: list(names.values())[-1] for topic, names in seen.items()}


def earlier_names(seen: Seen) -> dict[str, set[str]]:
    """Return what the rows of those topics are called that are not there any more."""
    earlier = {}
    for topic, latest in latest_names(seen).items():
        names = set(seen[topic].values())
        names.remove(latest)
        if names:
            earlier[topic] = names
    return earlier


def find_recreated(positions: Iterable[str], seen: Seen) -> set[str]:
    """Return the positions that are of topics that were created again, or of their earlier ones."""
    recreated = earlier_names(seen)
    return {position for position in positions if kafka_topic(position.split("/")[0]) in recreated}


def describe_later(seen: Seen) -> list[str]:
    """Return what every report says of topics that were created again."""
    names = [name for known in seen.values() for name in known.values() if "@" in name]
    return [f"{name}: what the earlier topic had that had not landed" for name in sorted(names)]


def read_seen(spark: SparkSession, delta_root: str) -> Seen:
    """Return the topics that have landed."""
    seen: Seen = {}
    path = seen_path(delta_root)
    files, log = locate(spark, f"{path}/_delta_log")
    if files.exists(log):
        for row in spark.read.format("delta").load(path).orderBy("seen_at").collect():
            seen.setdefault(row.topic, {})[row.topic_id] = row.name
    return seen


def note_topics(spark: SparkSession, delta_root: str, seen: Seen, topic_ids: TopicIds) -> None:
    """Note the topics that have not landed before."""
    now = datetime.now(UTC)
    names = name_topics(seen, topic_ids)
    rows = [
        (topic, topic_id, names[topic], now)
        for topic, topic_id in topic_ids.items()
        if topic_id not in seen.get(topic, {})
    ]
    if rows:
        frame = make_frame(spark, rows, SCHEMA)
        frame.write.format("delta").mode("append").save(seen_path(delta_root))


def seen_path(delta_root: str) -> str:
    """Return where the topics that have landed are noted."""
    return f"{delta_root}/topic"
