"""python -m lab.ladder.plain_service STEP SLOT: the lower steps, as first versions are written."""

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

from contract.names import INPUT_TOPIC
from lab.ladder.fault_plan import FaultPlan
from lab.ladder.offsets import ManualCommit, TimedCommit
from lab.ladder.steps import CONSUMER, PRODUCER
from lab.ladder.topics import EVENTS, id_in_header
from ops.topic import SECONDS

INSERT_TRACKING = "insert into ladder.tracking values (%s) on conflict do nothing"
INSERT_FULFILLMENT = "insert into ladder.fulfillment values (%s, %s)"


@dataclass
class PlainService:
    """Takes order by order: POST, write, publish.

    The timer commits the offset; from CONSUMER on, the service does when all is done.
    """

    step: int
    offsets: TimedCommit | ManualCommit
    producer: Producer
    database: psycopg.Connection[Any]
    http: requests.Session
    plan: FaultPlan

    def handle(self, record: Message) -> None:
        """Handle one order, with all the points at which it may fail."""
        order = json.loads(record.value() or b"")
        message_id = id_in_header(record)
        point = self.plan.point_of(message_id)
        self.plan.begin()
        self.offsets.before(record, point)
        self.plan.fail_if_due("freeze", [message_id])
        self.post({"message_id": message_id, "order_id": order["order_id"]})
        is_first = self.write(message_id, order)
        self.plan.fail_if_due("gap", [message_id])
        self.offsets.within(record, point)
        self.plan.fail_if_due("late", [message_id])
        if is_first:
            self.publish(message_id, order)
        self.plan.fail_if_due("end", [message_id])
        self.offsets.after(record)

    def post(self, body: dict[str, str]) -> None:
        """Post the entry again and again until the receiver answers."""
        url = f"{os.environ['AUDIT_URL']}/audit-entries"
        while True:
            try:
                answer = self.http.post(url, json=body, timeout=SECONDS)
                return answer.raise_for_status()
            except requests.RequestException as failure:
                print(f"{body['message_id']}: once more after {failure!r}", flush=True)

    def write(self, message_id: str, order: dict[str, Any]) -> bool:
        """Write in one transaction; from CONSUMER on, bypass a redelivery."""
        with self.database.transaction():
            if self.step >= CONSUMER:
                tracked = self.database.execute(INSERT_TRACKING, [message_id])
                if not tracked.rowcount:
                    return False
            self.database.execute(INSERT_FULFILLMENT, [message_id, order["order_id"]])
        return True

    def publish(self, message_id: str, order: dict[str, Any]) -> None:
        """Do the second half of the dual write."""
        value = json.dumps({"message_id": message_id, **order})
        self.producer.produce(EVENTS, value, order["order_id"])
        left = self.producer.flush(SECONDS)
        assert left == 0, f"{message_id}: the broker did not answer"


def main() -> None:
    """Work until SIGTERM, and finish the order in progress."""
    step = int(sys.argv[1])
    slot = sys.argv[2]
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    commit = TimedCommit if step < CONSUMER else ManualCommit
    servers = {"bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"]}
    # A static member: after a crash its successor need not wait until it is missed.
    member = {
        "group.id": os.environ["GROUP_ID"],
        "group.instance.id": slot,
        "session.timeout.ms": 6000,
        "auto.offset.reset": "earliest",
    }
    consumer = Consumer({**servers, **member, **commit.SETTINGS})
    producer = Producer({**servers, "enable.idempotence": step >= PRODUCER, "linger.ms": 0})
    consumer.subscribe([INPUT_TOPIC])
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as database:
        service = PlainService(
            step=step,
            offsets=commit(consumer),
            producer=producer,
            database=database,
            http=requests.Session(),
            plan=FaultPlan(Path(os.environ["FAULT_PLAN"])),
        )
        while not stopping.is_set():
            record = consumer.poll(0.1)
            if record and not record.error():
                service.handle(record)
    consumer.close()


if __name__ == "__main__":
    main()
