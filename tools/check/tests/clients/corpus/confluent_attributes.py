import os
from dataclasses import dataclass

from confluent_kafka import Producer


class Outbound:
    ACKS = "all"

    def __init__(self, servers: str) -> None:
        self.conf = {
            "bootstrap.servers": servers,
            "acks": self.ACKS,
            "enable.idempotence": True,
        }
        self.producer = Producer(self.conf)


class Changed:
    def __init__(self) -> None:
        self.conf = {"enable.idempotence": True}

    def start(self, more: dict) -> None:
        self.conf.update(more)
        self.producer = Producer(self.conf)


@dataclass
class Options:
    acks: str = "1"
    servers: str = os.environ["SERVERS"]


def of_options(options: Options) -> Producer:
    return Producer({"bootstrap.servers": options.servers, "acks": options.acks})
