"""What a rule finds fault with, and the same as it passes: each pair is tried by a test."""

from typing import NamedTuple


class Example(NamedTuple):
    """A file with the fault, and the same file without it."""

    file: str
    before: str
    after: str


PRODUCER = "bootstrap.servers=kafka:9092\n"
CONSUMER = f"{PRODUCER}group.id=orders\n"
CAREFUL_CONSUMER = f"{CONSUMER}enable.auto.commit=false\nauto.offset.reset=earliest\n"
BROKER = (
    "process.roles=broker\nauto.create.topics.enable=false\ndefault.replication.factor=3\n"
    "min.insync.replicas=2\n"
)
IMPORTED = "from confluent_kafka import Producer\n\n"
STREAMS = "application.id=orders\nbootstrap.servers=kafka:9092\n"
SPARK = 'rows = spark.readStream.format("kafka").option("subscribe", "orders"){more}.load()\n'

EXAMPLES = {
    "producer-not-idempotent": Example(
        "producer.properties",
        f"{PRODUCER}acks=1\n",
        f"{PRODUCER}acks=all\nenable.idempotence=true\n",
    ),
    "producer-refused": Example(
        "producer.properties",
        f"{PRODUCER}enable.idempotence=true\nacks=1\n",
        f"{PRODUCER}enable.idempotence=true\nacks=all\n",
    ),
    "producer-acks-lost": Example(
        "producer.properties",
        f"{PRODUCER}acks=0\n",
        f"{PRODUCER}acks=all\n",
    ),
    "producer-gives-up": Example(
        "producer.properties",
        f"{PRODUCER}enable.idempotence=true\nretries=3\n",
        f"{PRODUCER}enable.idempotence=true\n",
    ),
    "producer-depends-on-version": Example(
        "producer.properties",
        f"{PRODUCER}acks=all\n",
        f"{PRODUCER}acks=all\nenable.idempotence=true\n",
    ),
    "producer-depends": Example(
        "send.py",
        f"{IMPORTED}producer = Producer(settings_of(shop))\n",
        f'{IMPORTED}producer = Producer({{"enable.idempotence": True}})\n',
    ),
    "setting-changed-silently": Example(
        "send.py",
        f'{IMPORTED}producer = Producer({{"enable.idempotence": True}})\n',
        f'{IMPORTED}producer = Producer({{"enable.idempotence": True, "max.in.flight": 5}})\n',
    ),
    "setting-misspelt": Example(
        "producer.properties",
        f"{PRODUCER}acks=all\nenable.idempotense=true\n",
        f"{PRODUCER}acks=all\nenable.idempotence=true\n",
    ),
    "consumer-auto-commit": Example(
        "consumer.properties",
        f"{CONSUMER}auto.offset.reset=earliest\n",
        CAREFUL_CONSUMER,
    ),
    "consumer-skips-history": Example(
        "consumer.properties",
        f"{CONSUMER}enable.auto.commit=false\n",
        CAREFUL_CONSUMER,
    ),
    "consumer-poll-interval": Example(
        "consumer.properties",
        f"{CAREFUL_CONSUMER}max.poll.interval.ms=10000\n",
        f"{CAREFUL_CONSUMER}max.poll.interval.ms=300000\n",
    ),
    "topic-one-replica": Example(
        "server.properties",
        BROKER.replace("factor=3", "factor=1"),
        BROKER,
    ),
    "topic-acks-of-one": Example(
        "server.properties",
        BROKER.replace("replicas=2", "replicas=1"),
        BROKER,
    ),
    "topic-insync-blocks": Example(
        "server.properties",
        BROKER.replace("replicas=2", "replicas=3"),
        BROKER,
    ),
    "topic-unclean-election": Example(
        "server.properties",
        f"{BROKER}unclean.leader.election.enable=true\n",
        BROKER,
    ),
    "topic-retention-short": Example(
        "server.properties",
        f"{BROKER}log.retention.hours=2\n",
        f"{BROKER}log.retention.hours=168\n",
    ),
    "broker-creates-topics": Example(
        "server.properties",
        BROKER.replace("enable=false", "enable=true"),
        BROKER,
    ),
    "broker-own-topics-one-replica": Example(
        "server.properties",
        f"{BROKER}offsets.topic.replication.factor=1\n",
        f"{BROKER}offsets.topic.replication.factor=3\n",
    ),
    "connect-overrides-open": Example(
        "worker.properties",
        "group.id=connect\nconfig.storage.topic=configs\n",
        "group.id=connect\nconfig.storage.topic=configs\n"
        "connector.client.config.override.policy=None\n",
    ),
    "streams-repeats": Example(
        "streams.properties",
        STREAMS,
        f"{STREAMS}processing.guarantee=exactly_once_v2\n",
    ),
    "spark-source-skips": Example(
        "read.py",
        SPARK.format(more='.option("failOnDataLoss", "false")'),
        SPARK.format(more='.option("failOnDataLoss", "true")'),
    ),
}
