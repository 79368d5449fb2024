from confluent_kafka import Producer

IN_FLIGHT = "max.in.flight"


class Sender:
    def __init__(self, servers, *, acks="all", idempotent: bool = True):
        self.settings = {"acks": acks, "enable.idempotence": idempotent, IN_FLIGHT: 5}
        self.producer = Producer(self.settings)


class Hasty:
    def __init__(self, servers, idempotent=True):
        self.producer = Producer({"enable.idempotence": idempotent, IN_FLIGHT: 5})


class Base:
    def __init__(self, idempotent=True):
        self.producer = Producer({"enable.idempotence": idempotent, IN_FLIGHT: 5})


class Derived(Base):
    def __init__(self):
        super().__init__(False)
