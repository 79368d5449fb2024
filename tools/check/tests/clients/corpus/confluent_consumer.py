from confluent_kafka import Consumer, Producer

consumer = Consumer({"bootstrap.servers": "kafka:9092", "group.id": "orders", "isolation.level": "read_uncommitted"})
