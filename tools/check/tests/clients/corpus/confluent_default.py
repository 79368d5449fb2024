from confluent_kafka import Consumer, Producer

producer = Producer({"bootstrap.servers": "kafka:9092"})
