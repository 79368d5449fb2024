from confluent_kafka import Consumer, Producer

# check: ignore[producer-not-idempotent] a metric may be doubled
producer = Producer({"bootstrap.servers": "kafka:9092"})
