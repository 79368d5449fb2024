"""Make every topic before anything uses it: no other part of the pipeline makes topics."""

from collections.abc import Iterable
from typing import Any

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from access.kafka import kafka_connection
from access.kafka_login import find_reason
from connect.files import TOPICS, SettingsError, read_json
from connect.settings import Settings
from contract.events import EVENTS
from contract.extras import manifests
from contract.names import DEAD_LETTER_TOPIC, INPUT_TOPIC, OTHER_OUTBOXES
from contract.pulse import PULSE_TOPIC

Topics = dict[str, Any]  # partitions and configuration, by name


def make_topics(settings: Settings) -> list[str]:
    """Make what is missing and return its names; what exists is left as it is."""
    wanted = all_topics(settings.input_topic)
    timeout = settings.connect_timeout_seconds
    admin = AdminClient(kafka_connection(settings.kafka_bootstrap_servers))
    refuse_without_login(settings.kafka_bootstrap_servers)
    found = admin.list_topics(timeout=timeout).topics
    missing = [name for name in wanted if name not in found]
    new_topics = []
    for name in missing:
        topic = wanted[name]
        partitions = topic["partitions"]
        config = topic["config"]
        new_topics.append(NewTopic(name, partitions, settings.replication_factor, config=config))
    if new_topics:
        answers = admin.create_topics(new_topics, operation_timeout=timeout)
        for answer in answers.values():
            answer.result()
    return missing


def refuse_without_login(bootstrap_servers: str) -> None:
    """Refuse settings with which no broker would ever let us in."""
    reason = find_reason(bootstrap_servers)
    if reason:
        raise SettingsError(f"{bootstrap_servers}: {reason}")


def all_topics(input_topic: str = INPUT_TOPIC) -> Topics:
    """Return the topics of topics.json, the input topic under its own name, and the extras'."""
    topics = read_json(TOPICS)
    needed = [INPUT_TOPIC, *published_topics()]
    refuse_missing(topics, needed)
    of_input = topics.pop(INPUT_TOPIC)
    add_topics(topics, "INPUT_TOPIC", {input_topic: of_input})
    for extra, of_extra in manifests("topics").items():
        add_topics(topics, f"extras/{extra}", of_extra)
    return topics


def published_topics() -> list[str]:
    """Return the topics to which the outboxes are published."""
    of_events = [event.topic for event in EVENTS]
    return [DEAD_LETTER_TOPIC, PULSE_TOPIC, *OTHER_OUTBOXES, *of_events]


def refuse_missing(topics: Topics, needed: Iterable[str]) -> None:
    """Refuse a file without a topic that the contract names: what is sent there would be stuck."""
    for name in needed:
        if name not in topics:
            raise SettingsError(f"topic {name} (contract/) is not in connect/topics.json: add it")


def add_topics(topics: Topics, source: str, added: Topics) -> None:
    """Add these topics; two of one name would be merged into one that nobody described."""
    for name, topic in added.items():
        if name in topics:
            raise SettingsError(f"topic {name} of {source} is in connect/topics.json already")
        topics[name] = topic
