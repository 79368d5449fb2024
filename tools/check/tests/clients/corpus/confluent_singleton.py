from confluent_kafka import Producer

_producer = None


def producer():
    global _producer
    if _producer is None:
        conf = {"bootstrap.servers": "kafka:9092"}
        conf["enable.idempotence"] = True
        _producer = Producer(conf)
    return _producer
