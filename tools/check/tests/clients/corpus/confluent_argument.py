from confluent_kafka import Producer

CONF = {"bootstrap.servers": "kafka:9092", "enable.idempotence": True, "acks": "all"}


class Orders:
    def __init__(self, conf: dict) -> None:
        self.producer = Producer(conf)


class Clicks:
    def __init__(self, conf: dict) -> None:
        self.producer = Producer(conf)


orders = Orders(CONF)
clicks = [Clicks(CONF), Clicks({"acks": "1"})]
