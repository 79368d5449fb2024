"""The naive service, for comparison: one order at a time, one ORM session, one POST, one commit."""

import json
import signal
import sys
import time
from decimal import Decimal
from hashlib import sha256
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import requests
from confluent_kafka import Consumer
from sqlalchemy import Engine
from sqlalchemy.ext.automap import automap_base
from sqlalchemy.orm import Session

from service.database import connect_to
from service.settings import Settings


def handle(settings: Settings, count: int, http: requests.Session | None = None) -> float:
    """Handle this many orders; return the seconds from the first to its last offset commit.

    Orders are audited if there is an HTTP session.
    """
    made = connect_to(settings.database_url, settings.database_password_file, 30)
    engine = made.execution_options(isolation_level="READ COMMITTED")
    tables = automap_base()
    tables.prepare(autoload_with=engine)  # the ORM's classes, from the tables as they are
    config = {
        "bootstrap.servers": settings.kafka_bootstrap_servers,
        "group.id": settings.group_id,
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
    }
    started = 0.0
    with Consumer(config) as consumer:
        consumer.subscribe([settings.input_topic])
        while count > 0:
            record = consumer.poll(0.2)
            if record is None or record.error():
                continue
            started = started or time.perf_counter()
            handle_one(engine, tables.classes, record, settings.audit_url, http)
            consumer.commit(message=record, asynchronous=False)
            count -= 1
        seconds = time.perf_counter() - started
    engine.dispose()
    return seconds


def handle_one(
    engine: Engine,
    tables: Any,
    record: Any,
    audit_url: str,
    http: requests.Session | None,
) -> None:
    """Write one order, and audit it."""
    with Session(engine, expire_on_commit=False) as session:
        tracking, fulfillment, event = make_rows(record, tables)
        session.add_all([tracking, fulfillment, event])
        session.commit()
        if http:
            post_one(http, audit_url, event.payload)
            tracking.audited_at = "now"
            session.commit()


def make_rows(record: Any, tables: Any) -> tuple[Any, Any, Any]:
    """Return tracking, fulfillment and outbox of one order, with the service's own content."""
    order = json.loads(record.value())
    message_id = dict(record.headers())["message_id"].decode()
    event_id = uuid5(NAMESPACE_URL, f"event/{message_id}")
    fulfillment_id = uuid5(NAMESPACE_URL, f"fulfillment/{message_id}")
    total = sum(line["quantity"] * Decimal(line["unit_price"]) for line in order["lines"])
    payload = {
        "message_id": message_id,
        "fulfillment_id": str(fulfillment_id),
        **order,
        "total": str(total),
    }
    tracking = tables.tracking(
        message_id=message_id,
        value_sha256=sha256(record.value()).digest(),
        subscriber="fulfillment",
        topic=record.topic(),
        partition=record.partition(),
        offset=record.offset(),
    )
    event = tables.outbox(
        event_id=event_id,
        aggregate_type="fulfillment",
        aggregate_id=order["order_id"],
        event_type="order-fulfilled",
        traceparent=f"00-{event_id.hex}-{event_id.hex[:16]}-00",
        payload=payload,
    )
    return tracking, tables.fulfillment(**payload), event


def post_one(http: requests.Session, url: str, event: dict[str, str]) -> None:
    """Send the entry of one event in a request of its own."""
    names = ("message_id", "order_id", "fulfillment_id", "total")
    body = {name: event[name] for name in names} | {"outcome": "fulfilled"}
    key = uuid5(NAMESPACE_URL, f"audit/{event['message_id']}")
    headers = {"Idempotency-Key": f'"{key}"'}
    answer = http.post(f"{url}/audit-entries", json=body, headers=headers, timeout=30)
    answer.raise_for_status()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    handle(Settings(), sys.maxsize, requests.Session())
