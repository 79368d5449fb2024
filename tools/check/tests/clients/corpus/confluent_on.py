from confluent_kafka import Consumer, Producer

producer = Producer(
    {"bootstrap.servers": "kafka:9092", "enable.idempotence": True, "max.in.flight": 5, "partitioner": "murmur2_random"}
)
