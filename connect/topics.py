"""Every topic of topics.json, made before anything uses it: nothing here makes topics by itself."""

import json

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from connect.settings import CONNECT, Settings
from contract.extras import manifests


def make_topics(settings: Settings) -> list[str]:
    """Make what is missing and return its names; what exists is left as it is."""
    timeout, replicas = settings.connect_timeout_seconds, settings.replication_factor
    wanted = json.loads((CONNECT / "topics.json").read_text())
    for topics_of_extra in manifests("topics").values():
        wanted |= topics_of_extra
    admin = AdminClient({"bootstrap.servers": settings.kafka_bootstrap_servers})
    found = admin.list_topics(timeout=timeout).topics
    missing = [name for name in wanted if name not in found]
    topics = [
        NewTopic(n, wanted[n]["partitions"], replicas, config=wanted[n]["config"]) for n in missing
    ]
    for made in admin.create_topics(topics, operation_timeout=timeout).values() if topics else []:
        made.result()
    return missing
