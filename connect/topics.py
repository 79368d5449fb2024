"""Every topic of topics.json, made before anything uses it: nothing here makes topics by itself."""

import json
from pathlib import Path

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from connect.settings import Settings

TOPICS = Path(__file__).with_name("topics.json")


def make_topics(settings: Settings) -> list[str]:
    """Make what is missing and return its names; what exists is left as it is."""
    timeout = settings.connect_timeout_seconds
    admin = AdminClient({"bootstrap.servers": settings.kafka_bootstrap_servers})
    found = admin.list_topics(timeout=timeout).topics
    missing = [
        NewTopic(name, wanted["partitions"], settings.replication_factor, config=wanted["config"])
        for name, wanted in json.loads(TOPICS.read_text()).items()
        if name not in found
    ]
    made = admin.create_topics(missing, operation_timeout=timeout) if missing else {}
    for answer in made.values():
        answer.result()
    return list(made)
