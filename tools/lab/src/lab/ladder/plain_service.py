"""python -m lab.ladder.plain_service STEP SLOT: the lower steps, as first versions are written."""

import json
import os
import signal
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid5

import psycopg
import requests
from confluent_kafka import Consumer, Message, Producer

from contract.events import ACCEPTED
from contract.names import INPUT_TOPIC, NAMESPACE
from lab.ladder.fault_plan import POST_LAST, FaultPlan
from lab.ladder.offsets import ManualCommit, TimedCommit
from lab.ladder.steps import CONSUMER, INSIDE, POST, PRODUCER
from lab.ladder.topics import EVENTS, id_in_header
from ops.topic import SECONDS

INSERT_TRACKING = "insert into ladder.tracking values (%s) on conflict do nothing"
INSERT_FULFILLMENT = "insert into ladder.fulfillment values (%s, %s)"


@dataclass
class PlainService:
    """Takes order by order: POST, write, publish.

    The timer commits the offset; from CONSUMER on, the service does when all is done. From INSIDE
    on it publishes before the database commits; from POST on each POST has a key.
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
        is_first = self.post_and_write(message_id, order)
        if self.step < INSIDE:
            self.plan.fail_if_due("gap", [message_id])
            self.offsets.within(record, point)
            self.plan.fail_if_due("late", [message_id])
            if is_first:
                self.publish(message_id, order)
        self.plan.fail_if_due("end", [message_id])
        self.offsets.after(record)

    def post_and_write(self, message_id: str, order: dict[str, Any]) -> bool:
        """Do both, and both again when the commit is refused; return whether the order was new.

        The POST stands before the write, as people write it, but for orders whose commit is to be
        refused after the POST.
        """
        posts_last = self.plan.is_due(POST_LAST, message_id)
        while True:
            try:
                if not posts_last:
                    self.post(message_id, order)
                return self.write(message_id, order, posts_last=posts_last)
            except psycopg.errors.SerializationFailure as refusal:
                print(f"{message_id}: once more after {refusal!r}", flush=True)

    def post(self, message_id: str, order: dict[str, Any]) -> None:
        """Post the entry again and again until the receiver answers."""
        path, document = self.entry(message_id, order)
        while True:
            try:
                answer = self.http.post(
                    os.environ["AUDIT_URL"] + path,
                    json=document,
                    timeout=SECONDS,
                )
                return answer.raise_for_status()
            except requests.RequestException as failure:
                print(f"{message_id}: once more after {failure!r}", flush=True)

    def entry(self, message_id: str, order: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return where the entry is posted, and what: from POST on with the id as key."""
        body = {
            "message_id": message_id,
            "order_id": order["order_id"],
            "outcome": ACCEPTED,
            "fulfillment_id": str(uuid5(NAMESPACE, message_id)),
            "total": None,
        }
        if self.step < POST:
            return "/audit-entries", body
        return "/audit-entries/batch", {"items": [{"idempotency_key": message_id, "body": body}]}

    def write(self, message_id: str, order: dict[str, Any], *, posts_last: bool) -> bool:
        """Write in one transaction; from CONSUMER on, bypass a redelivery."""
        with self.database.transaction():
            if self.step >= CONSUMER:
                tracked = self.database.execute(INSERT_TRACKING, [message_id])
                if not tracked.rowcount:
                    return False
            self.database.execute(INSERT_FULFILLMENT, [message_id, order["order_id"]])
            if posts_last:
                self.post(message_id, order)
            if self.step >= INSIDE:
                self.publish(message_id, order)
                self.plan.fail_if_due("gap", [message_id])
                self.plan.fail_if_due("late", [message_id])
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
