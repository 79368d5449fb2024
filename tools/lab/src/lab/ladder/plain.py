"""python -m lab.ladder.plain STEP SLOT: the service of the lower steps, as it stands in many a first version."""

import json
import os
import signal
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import requests
from confluent_kafka import Consumer, Message, Producer

from lab.ladder.offsets import ByHand, ByTimer
from lab.ladder.steps import CONSUMER, PRODUCER
from lab.ladder.strikes import Strikes
from lab.ladder.topics import EVENTS, of_header
from ops.produce import TOPIC
from ops.topic import SECONDS

TRACK = "insert into ladder.tracking values (%s) on conflict do nothing"
WRITE = "insert into ladder.fulfillment values (%s, %s)"


@dataclass
class Plain:
    """Order by order: POST, write, publish; the offset by the timer, or from CONSUMER on when all is done."""

    step: int
    offsets: ByTimer | ByHand
    producer: Producer
    database: psycopg.Connection[Any]
    http: requests.Session
    strikes: Strikes

    def handle(self, record: Message) -> None:
        """One order, with all the points at which it may be struck."""
        order, message_id = json.loads(record.value() or b""), of_header(record)
        point = self.strikes.awaits(message_id)
        self.strikes.begin()
        self.offsets.before(record, point)
        self.strikes.strike("freeze", [message_id])
        self.post({"message_id": message_id, "order_id": order["order_id"]})
        is_first = self.write(message_id, order)
        self.strikes.strike("gap", [message_id])
        self.offsets.within(record, point)
        self.strikes.strike("late", [message_id])
        if is_first:
            self.publish(message_id, order)
        self.strikes.strike("end", [message_id])
        self.offsets.after(record)

    def post(self, body: dict[str, str]) -> None:
        """Tell the receiver, again and again until it has answered."""
        while True:
            try:
                url = f"{os.environ['AUDIT_URL']}/audit-entries"
                return self.http.post(url, json=body, timeout=SECONDS).raise_for_status()
            except requests.RequestException as failure:
                print(f"{body['message_id']}: once more after {failure!r}", flush=True)

    def write(self, message_id: str, order: dict[str, Any]) -> bool:
        """One transaction; from CONSUMER on, a redelivery is bypassed."""
        with self.database.transaction():
            if self.step >= CONSUMER and not self.database.execute(TRACK, [message_id]).rowcount:
                return False
            self.database.execute(WRITE, [message_id, order["order_id"]])
        return True

    def publish(self, message_id: str, order: dict[str, Any]) -> None:
        """The second half of the dual write."""
        self.producer.produce(
            EVENTS, json.dumps({"message_id": message_id, **order}), order["order_id"]
        )
        assert self.producer.flush(SECONDS) == 0, f"{message_id}: the broker did not answer"


def main() -> None:
    """Work until SIGTERM, and finish the order in hand."""
    step, slot, stopping = int(sys.argv[1]), sys.argv[2], threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    kind, kafka = (
        ByTimer if step < CONSUMER else ByHand,
        {"bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"]},
    )
    # As a static member: who comes after a crash need not wait until its predecessor is missed.
    group = {
        "group.id": os.environ["GROUP_ID"],
        "group.instance.id": slot,
        "session.timeout.ms": 6000,
    }
    consumer = Consumer({**kafka, **group, **kind.SETTINGS, "auto.offset.reset": "earliest"})
    producer = Producer({**kafka, "enable.idempotence": step >= PRODUCER, "linger.ms": 0})
    consumer.subscribe([TOPIC])
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as database:
        strikes = Strikes(Path(os.environ["STRIKES"]))
        plain = Plain(step, kind(consumer), producer, database, requests.Session(), strikes)
        while not stopping.is_set():
            if (record := consumer.poll(0.1)) and not record.error():
                plain.handle(record)
    consumer.close()


if __name__ == "__main__":
    main()
