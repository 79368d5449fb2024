"""A topic is read as it is, also while its partitions move."""

from typing import Any, cast

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from ops.stack.supervisor import StackError
from ops.topic import span_of

PARTITION = TopicPartition("order.events", 0)


class Broker:
    """Gives these answers, one after the other."""

    def __init__(self, *answers: int | tuple[int, int] | None) -> None:
        self.answers = list(answers)

    def get_watermark_offsets(self, *_: Any) -> tuple[int, int] | None:
        """Give the next answer."""
        answer = self.answers.pop(0)
        if isinstance(answer, int):
            raise KafkaException(KafkaError(answer))
        return answer

    def list_topics(self, *_: Any, **__: Any) -> None:
        """Learn who leads, as a client does."""


def ask(*answers: int | tuple[int, int] | None) -> range:
    """Return the offsets of a partition, as such a broker tells them."""
    return span_of(cast("Consumer", Broker(*answers)), PARTITION, seconds=5)


def test_a_partition_that_has_no_leader_yet_is_asked_again() -> None:
    """A topic that was just created, or that moves, is no error."""
    no_leader = KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE
    assert ask(*no_leader, (3, 7)) == range(3, 7)


def test_any_other_error_is_raised_at_once() -> None:
    """Who may not read a topic is told so."""
    with pytest.raises(KafkaException) as failure:
        ask(KafkaError.TOPIC_AUTHORIZATION_FAILED, (3, 7))
    assert failure.value.args[0].code() == KafkaError.TOPIC_AUTHORIZATION_FAILED


def test_a_silent_broker_is_no_empty_topic() -> None:
    """No answer says nothing about what is there."""
    with pytest.raises(StackError, match=r"order\.events: the broker is silent for 5 s"):
        ask(None)
