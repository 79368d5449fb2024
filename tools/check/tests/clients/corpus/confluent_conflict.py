from confluent_kafka import Consumer, Producer

CONF = {
    "bootstrap.servers": "kafka:9092",
    "enable.idempotence": True,
    "acks": 1,
}
producer = Producer(CONF)
