"""Every topic of topics.json, made before anything uses it: nothing here makes topics by itself."""

import json
from pathlib import Path

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

TOPICS = Path(__file__).with_name("topics.json")


def make_topics(bootstrap_servers: str, replication_factor: int, timeout: float) -> list[str]:
    """Make what is missing and return its names; what exists is left as it is."""
    wanted = json.loads(TOPICS.read_text())
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    found = admin.list_topics(timeout=timeout).topics
    missing = [
        NewTopic(name, spec["partitions"], replication_factor, config=spec["config"])
        for name, spec in wanted.items()
        if name not in found
    ]
    made = admin.create_topics(missing, operation_timeout=timeout) if missing else {}
    for answer in made.values():
        answer.result()
    return list(made)
