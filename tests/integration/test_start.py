"""What is settled before the first record: which events a subscriber publishes, where it begins."""

import os
import threading
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions
from sqlalchemy import Engine

from contract.events import EVENTS
from contract.names import SUBSCRIBER
from ops.stack.stack import Stack
from service.settings import Settings
from service.start import choose_start, claim_event_types
from tests.client import TOPIC, connect, fresh, query, reader
from tests.load import orders
from tests.own_service import make_topic, own_service

PARTITIONS = 3
PUBLISHERS = "select event_type, subscriber from publisher where subscriber = any(%s) order by 1"


def test_a_second_subscriber_with_the_same_events_is_refused(spoiled: Stack) -> None:
    """It ends with exit code 2 and one sentence that names both, and handles nothing."""
    subscriber = fresh("subscriber")
    own = {"SUBSCRIBER": subscriber, "GROUP_ID": subscriber, "START_FROM": "beginning"}
    with own_service(spoiled, TOPIC, **own) as service:
        sentence = service.sentence()
    taken = min(event.event_type for event in EVENTS)
    assert sentence.startswith(
        f"SUBSCRIBER={subscriber}: {taken} is already published by subscriber {SUBSCRIBER};"
    )
    assert query(PUBLISHERS, [subscriber]) == []
    assert query("select 1 from tracking where subscriber = %s", subscriber) == []


def test_the_running_service_has_claimed_the_events_of_the_contract(spoiled: Stack) -> None:
    """The control: what a second subscriber is refused for is what the first has noted."""
    noted = dict(query(PUBLISHERS, [SUBSCRIBER]))
    assert noted.keys() >= {event.event_type for event in EVENTS}


def test_a_subscriber_claims_all_of_its_events_or_none(engine: Engine) -> None:
    """One that is refused for one event leaves the other free; the owner of both may restart."""
    first, second, shared, own = (fresh() for _ in range(4))
    claim_event_types(engine, first, [shared])
    claim_event_types(engine, first, [shared])
    with pytest.raises(SystemExit) as ended:
        claim_event_types(engine, second, [own, shared])
    assert ended.value.code == 2
    assert query(PUBLISHERS, [first, second]) == [(shared, first)]


def test_of_two_subscribers_that_start_together_one_is_refused(engine: Engine) -> None:
    """Both insert and neither asks first: the second waits for the first, and then sees it."""
    first, second = fresh("a"), fresh("b")
    event_types = sorted(fresh("event") for _ in range(3))
    refused: list[str] = []
    start = threading.Barrier(2)

    def claim(subscriber: str, types: list[str]) -> None:
        start.wait(10)
        try:
            claim_event_types(engine, subscriber, types)
        except SystemExit:
            refused.append(subscriber)

    threads = [
        threading.Thread(target=claim, args=[first, event_types]),
        threading.Thread(target=claim, args=[second, event_types[::-1]]),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    [winner] = {first, second} - set(refused)
    assert query(PUBLISHERS, [first, second]) == [(each, winner) for each in event_types]


def test_the_service_waits_for_a_claim_that_is_not_committed(engine: Engine) -> None:
    """A claim in progress is waited for, as its transaction may still be rolled back."""
    first, second, event_type = (fresh() for _ in range(3))
    with connect(role="app") as other:
        other.execute("begin")
        other.execute("insert into publisher values (%s, %s)", [event_type, first])
        thread = threading.Thread(target=claim_event_types, args=[engine, second, [event_type]])
        thread.start()
        thread.join(0.2)
        assert thread.is_alive()
        other.execute("rollback")
        thread.join(10)
    assert query(PUBLISHERS, [first, second]) == [(event_type, second)]


@pytest.fixture
def topic(spoiled: Stack) -> str:
    """A topic of this test alone, without records."""
    return make_topic(PARTITIONS)


@pytest.fixture
def settings(topic: str) -> Settings:
    """The settings of a new subscriber."""
    return Settings(
        kafka_bootstrap_servers=os.environ["KAFKA_BOOTSTRAP_SERVERS"],
        input_topic=topic,
        group_id=topic,
        subscriber=topic,
    )


@pytest.fixture
def start(settings: Settings) -> Iterator[Callable[..., None]]:
    """Choose where to begin, as the service does, with these settings changed."""
    consumer = Consumer(settings.kafka())
    yield lambda **changed: choose_start(consumer, settings.model_copy(update=changed))
    consumer.close()


def committed(topic: str) -> list[int]:
    """Return the committed offset of each partition; below zero where there is none."""
    with reader(topic) as consumer:
        partitions = [TopicPartition(topic, n) for n in range(PARTITIONS)]
        return [partition.offset for partition in consumer.committed(partitions, timeout=10)]


def ends(topic: str) -> list[int]:
    """Return the end of each partition."""
    with reader() as consumer:
        found = [
            consumer.get_watermark_offsets(TopicPartition(topic, n), timeout=10)
            for n in range(PARTITIONS)
        ]
    return [watermarks[1] for watermarks in found if watermarks]


def test_a_new_subscriber_must_say_what_becomes_of_old_records(
    topic: str, start: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    """With records on the topic and no committed offset: exit code 2, and the setting is named."""
    orders(30, topic)
    with pytest.raises(SystemExit) as ended:
        start()
    [sentence] = capsys.readouterr().err.splitlines()
    assert ended.value.code == 2
    assert "START_FROM=beginning" in sentence
    assert "START_FROM=end" in sentence
    assert max(committed(topic)) < 0


def test_from_the_end_means_the_end_of_the_first_start(
    topic: str, start: Callable[..., None]
) -> None:
    """Old records are skipped once; what comes while the service is away is handled."""
    orders(30, topic)
    start(start_from="end")
    before = ends(topic)
    assert committed(topic) == before
    orders(30, topic)
    start(start_from="end")
    assert committed(topic) == before


def test_a_partition_that_is_added_later_is_read_from_its_beginning(
    topic: str, start: Callable[..., None]
) -> None:
    """It has no records from before the first start, so none of it may be skipped."""
    start(start_from="end")
    admin = AdminClient({"bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"]})
    admin.create_partitions([NewPartitions(topic, PARTITIONS + 1)])[topic].result(30)
    start(start_from="end")
    with reader(topic) as consumer:
        [added] = consumer.committed([TopicPartition(topic, PARTITIONS)], timeout=10)
    assert added.offset < 0


def test_an_empty_topic_needs_no_answer(topic: str, start: Callable[..., None]) -> None:
    """There is nothing to ask about; and records that come later are not old."""
    start()
    assert committed(topic) == [0] * PARTITIONS
    orders(30, topic)
    start()


@pytest.mark.parametrize("changed", [{"start_from": "beginning"}, {"subscriber": SUBSCRIBER}])
def test_the_beginning_is_where_uncommitted_partitions_are_read_from(
    topic: str, start: Callable[..., None], changed: dict[str, str]
) -> None:
    """If asked to, or as the default subscriber, a group reads everything: nothing is committed."""
    orders(30, topic)
    start(**changed)
    assert max(committed(topic)) < 0
