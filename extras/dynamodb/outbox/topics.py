"""The topics that have to be there before the first record."""

from collections.abc import Mapping

from confluent_kafka import KafkaException

from access.kafka_admin import Admin
from service.logs import exit_with_error
from service.outage import OutageError

ANSWER_SECONDS = 5.0


def refuse_topics(admin: Admin, needed: Mapping[str, str]) -> None:
    """End the process if a topic is missing, given by its setting; a silent broker is an outage."""
    try:
        there = admin.ask(lambda client: client.list_topics(timeout=ANSWER_SECONDS).topics)
    except KafkaException as failure:
        raise OutageError(f"Kafka: {failure.args[0].str()}") from failure
    for setting, name in needed.items():
        if name not in there:
            exit_with_error(
                f"{setting}={name}: there is no such topic. Make it (python -m connect topics),"
                " or correct the setting."
            )
