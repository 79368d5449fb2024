from confluent_kafka import Producer


class Filled:
    def __init__(self, careful):
        self.conf = {"bootstrap.servers": "kafka:9092"}
        self.conf["enable.idempotence"] = False
        self.producer = Producer(self.conf)


class FilledSometimes:
    def __init__(self, careful):
        self.conf = {"bootstrap.servers": "kafka:9092"}
        if careful:
            self.conf["enable.idempotence"] = True
        self.producer = Producer(self.conf)


class FilledElsewhere:
    def __init__(self):
        self.conf = {"bootstrap.servers": "kafka:9092"}
        self.conf["client.id"] = "orders"

    def careful(self):
        self.conf["enable.idempotence"] = True

    def start(self):
        self.producer = Producer(self.conf)


class HandedOver:
    def __init__(self):
        self.conf = {"bootstrap.servers": "kafka:9092"}
        fill_in(self.conf)
        self.producer = Producer(self.conf)
