"""The topics that the filter needs, looked at before the first record."""

import structlog
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from extras.filter.settings import Settings
from service.logs import exit_with_error
from service.outage import AbandonedError
from service.stop import Stop

log = structlog.get_logger()
ANSWER_SECONDS = 10


def refuse_topics(admin: AdminClient, settings: Settings, stop: Stop) -> None:
    """End the process if a topic is missing, or the marks have no partition for each of the input.

    An outage of the broker is waited out.
    """
    while True:
        try:
            partitions = count_partitions(admin, settings)
            break
        except KafkaException as failure:
            log.warning("outage", stage="start", what=failure.args[0].str())
        if stop.asked.wait(settings.retry_seconds):
            raise AbandonedError("stopping")
    for setting, count in partitions.items():
        if not count:
            name = getattr(settings, setting)
            exit_with_error(
                f"filter: {setting.upper()}={name}: there is no such topic. Make it"
                " (python -m connect topics), or correct the setting."
            )
    wanted, found = partitions["filter_input_topic"], partitions["filter_mark_topic"]
    if found < wanted:
        exit_with_error(
            f"filter: {settings.filter_mark_topic} has {found} partitions, and"
            f" {settings.filter_input_topic} has {wanted}: add partitions to the first, so that"
            " each of the second has a place for its mark."
        )


def count_partitions(admin: AdminClient, settings: Settings) -> dict[str, int]:
    """Return how many partitions each topic has, by its setting."""
    there = admin.list_topics(timeout=ANSWER_SECONDS).topics
    found = {}
    for setting in type(settings).model_fields:
        if setting.endswith("_topic"):
            topic = there.get(getattr(settings, setting))
            found[setting] = len(topic.partitions) if topic else 0
    return found
