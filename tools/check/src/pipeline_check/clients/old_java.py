"""The producer of Kafka 0.8, written in Scala, with names that no later client has."""

from collections.abc import Mapping

from pipeline_check.clients.outcome import Outcome

# Any of these beside `metadata.broker.list` or `zk.connect` says that it is this one.
OWN_NAMES = {
    "serializer.class",
    "key.serializer.class",
    "producer.type",
    "compression.codec",
    "queue.enqueue.timeout.ms",
    "broker.list",
}
ACKS = "request.required.acks"
RETRIES = "message.send.max.retries"
WAY_OUT = "move to org.apache.kafka.clients.producer.KafkaProducer 3.2 or later"


def producer(settings: Mapping[str, str], _version: tuple[int, ...] = (0, 8)) -> Outcome:
    """Return what it does: it never is idempotent, and by default waits for nobody."""
    acks = settings.get(ACKS, "0").strip()
    return Outcome(
        idempotent=False,
        effective={
            "acks": "all" if acks == "-1" else acks,
            "retries": settings.get(RETRIES, "3").strip(),
        },
        because="the producer of Kafka 0.8 knows no idempotence",
        way_out=WAY_OUT,
    )
