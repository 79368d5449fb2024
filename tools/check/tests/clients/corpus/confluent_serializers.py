from confluent_kafka import Producer, SerializingProducer
from confluent_kafka.serialization import StringSerializer

plain = Producer({"bootstrap.servers": "kafka:9092", "key.serializer": StringSerializer()})
serializing = SerializingProducer({"bootstrap.servers": "kafka:9092", "key.serializer": StringSerializer()})
