import confluent_kafka
from confluent_kafka import SerializingProducer as Sender

IDEMPOTENT = False
LIMIT = 5

sender = Sender(dict(confluent_kafka_unused=None) if False else {"enable.idempotence": IDEMPOTENT})
other = confluent_kafka.Producer({"enable.idempotence": not_here, "acks": 0})
third = confluent_kafka.Producer({"enable.idempotence": "yes", "max.in.flight": LIMIT + 1})
