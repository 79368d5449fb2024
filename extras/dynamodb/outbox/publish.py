"""Events to Kafka: sent, and acknowledged by all replicas before anybody notes that."""

from collections.abc import Callable, Sequence
from functools import partial

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from access.kafka import kafka_connection
from extras.dynamodb.outbox import metrics
from extras.dynamodb.outbox.event import Event
from extras.dynamodb.outbox.settings import Settings
from service.logs import exit_with_error
from service.outage import OutageError

FLUSH_SECONDS = 5.0  # above what the producer allows a delivery, so that each has its answer


class Publisher:
    """Says of each event whether the broker has it.

    After a failure it takes a new producer: one that once was told of no brokers may never find one
    again (librdkafka's issue 5301).
    """

    def __init__(self, make_producer: Callable[[], Producer], delivery_seconds: float) -> None:
        self.make_producer = make_producer
        self.producer = make_producer()
        self.flush_seconds = delivery_seconds + FLUSH_SECONDS

    def publish(self, events: Sequence[Event]) -> None:
        """Send events and wait until the broker has all of them, or raise an OutageError."""
        failed: list[KafkaError] = []

        def note(error: KafkaError | None, _message: Message) -> None:
            if error is not None:
                failed.append(error)

        for event in events:
            self.send(event, note)
        unanswered = self.producer.flush(self.flush_seconds)
        for error in failed:
            stop_if_fatal(error)
        if failed or unanswered:
            self.producer = self.make_producer()
        if failed:
            raise OutageError(f"Kafka: {len(failed)} events were not taken: {failed[0].str()}")
        if unanswered:
            raise OutageError(f"Kafka: no answer for {unanswered} events")
        metrics.RELAYED.inc(len(events))

    def send(self, event: Event, note: Callable[[KafkaError | None, Message], None]) -> None:
        """Hand an event to the producer, and wait while its queue is full."""
        while True:
            try:
                self.producer.produce(
                    event.topic,
                    event.value.encode(),
                    event.aggregate_id,
                    headers=event.headers(),
                    on_delivery=note,
                )
            except BufferError:
                self.producer.poll(1)
            except KafkaException as failure:
                error = failure.args[0]
                stop_if_fatal(error)
                raise OutageError(f"Kafka: {error.str()}") from failure
            else:
                self.producer.poll(0)
                return


def make_publisher(settings: Settings) -> Publisher:
    """Return a publisher with producers of its own."""
    return Publisher(partial(make_producer, settings), settings.relay_delivery_seconds)


def make_producer(settings: Settings) -> Producer:
    """Return a producer of these settings."""
    return Producer(
        {
            **kafka_connection(settings.kafka_bootstrap_servers),
            "enable.idempotence": True,  # a lost acknowledgement doubles and reorders nothing
            "acks": "all",  # a checkpoint rests on it
            "max.in.flight.requests.per.connection": 5,  # what idempotence makes of it anyway
            "partitioner": "murmur2_random",  # as Java's clients choose a partition
            "message.timeout.ms": round(1000 * settings.relay_delivery_seconds),
            "linger.ms": 5,
        }
    )


def stop_if_fatal(error: KafkaError) -> None:
    """End the process if the producer will send nothing any more."""
    if error.fatal() or error.code() == KafkaError._FATAL:
        exit_with_error(
            f"relay: the producer has failed for good ({error.str()})."
            " Nothing is lost: start again."
        )
