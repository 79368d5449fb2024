"""The topics that the filter needs, looked at before the first record."""

from functools import partial

from access.kafka_admin import Admin
from extras.filter.outage import wait_out
from extras.filter.settings import Settings
from service.logs import exit_with_error
from service.stop import Stop

ANSWER_SECONDS = 10


def refuse_topics(admin: Admin, settings: Settings, stop: Stop) -> None:
    """End the process if a topic is missing, or the marks have no partition for each of the input.

    An outage of the broker is waited out.
    """
    count = partial(count_partitions, admin, settings)
    partitions = wait_out(count, "start", stop, settings.retry_seconds)
    for setting, number in partitions.items():
        if not number:
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


def count_partitions(admin: Admin, settings: Settings) -> dict[str, int]:
    """Return how many partitions each topic has, by its setting."""
    there = admin.ask(lambda client: client.list_topics(timeout=ANSWER_SECONDS).topics)
    found = {}
    for setting in type(settings).model_fields:
        if setting.endswith("_topic"):
            topic = there.get(getattr(settings, setting))
            found[setting] = len(topic.partitions) if topic else 0
    return found
