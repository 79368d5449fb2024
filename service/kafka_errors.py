"""What an error of Kafka means: most are outages and pass by themselves, these stop the service."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from service.logs import exit_with_error
from service.outage import OutageError
from service.settings import Settings

GONE = (
    "service: {place}: the records after the committed offset are gone ({reason})."
    " They are lost, if they were not handled. python -m service.offsets shows where the group"
    " stands; with --accept-loss it goes on at the first record that is there."
)
CORRUPT = (
    "service: {place}: a batch of records is corrupt ({reason})."
    " Nothing of it was handled, and nothing after it. Start again, in case it was only damaged on"
    " its way. If it stays corrupt, its records are lost unless a replica has them: set the group's"
    " offset behind it by hand."
)
NO_TOPIC = (
    "service: INPUT_TOPIC={topic}: there is no such topic or partition ({reason})."
    " If somebody deleted it, the records that were not handled are lost. Make it"
    " (python -m connect topics) or correct INPUT_TOPIC, and start again."
)
DENIED = (
    "service: the broker denies topic {topic} or group {group} ({reason})."
    " Nothing is lost as long as the topic keeps its records: grant READ on both, and start again."
)
FENCED = (
    "service: GROUP_INSTANCE_ID={instance}: another process has the same ({reason})."
    " Nothing is lost, the other one goes on. Give each process an id of its own."
)
SENTENCES = {
    KafkaError._AUTO_OFFSET_RESET: GONE,
    KafkaError._BAD_MSG: CORRUPT,
    KafkaError.UNKNOWN_TOPIC_OR_PART: NO_TOPIC,
    KafkaError._UNKNOWN_TOPIC: NO_TOPIC,
    KafkaError._UNKNOWN_PARTITION: NO_TOPIC,
    KafkaError.TOPIC_AUTHORIZATION_FAILED: DENIED,
    KafkaError.GROUP_AUTHORIZATION_FAILED: DENIED,
    KafkaError._FENCED: FENCED,
    KafkaError.FENCED_INSTANCE_ID: FENCED,
}


def stop_if_final(error: KafkaError, settings: Settings, place: str = "") -> None:
    """End the process if this error does not pass by itself, and say what may be lost."""
    sentence = SENTENCES.get(error.code())
    is_fatal = error.fatal() or error.code() == KafkaError._FATAL
    if is_fatal and settings.group_instance_id:
        sentence = FENCED
    if sentence:
        said = sentence.format(
            place=place,
            reason=error.str(),
            topic=settings.input_topic,
            group=settings.group_id,
            instance=settings.group_instance_id,
        )
        exit_with_error(said)
    if is_fatal:
        raise KafkaException(error)


@contextmanager
def classify_errors(settings: Settings, what: str) -> Iterator[None]:
    """Raise every error of Kafka inside as an outage, or end the process if it is none."""
    try:
        yield
    except KafkaException as failure:
        error = failure.args[0]
        stop_if_final(error, settings)
        raise OutageError(f"{what}: {error.str()}") from failure


def raise_first_error(partitions: Iterable[TopicPartition]) -> None:
    """Raise the error of the first partition that has one: an answer may be good in part."""
    for partition in partitions:
        if partition.error:
            raise KafkaException(partition.error)
