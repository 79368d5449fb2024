"""The naive service, to compare with: order by order, one ORM session, one commit, one POST, one offset commit."""

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
from sqlalchemy.ext.automap import automap_base
from sqlalchemy.orm import Session

from service.database import connect_to
from service.settings import Settings


def handle(settings: Settings, count: int, http: requests.Session | None = None) -> float:
    """So many orders, audited if there is a session; seconds from the first in hand to its last offset commit."""
    engine = connect_to(settings.database_url, settings.database_password_file, 30)
    engine, tables, started = (
        engine.execution_options(isolation_level="READ COMMITTED"),
        automap_base(),
        0.0,
    )
    tables.prepare(autoload_with=engine)  # the ORM's classes, of the tables as they stand
    given = {"bootstrap.servers": settings.kafka_bootstrap_servers, "group.id": settings.group_id}
    with Consumer(
        given | {"enable.auto.commit": False, "auto.offset.reset": "earliest"}
    ) as consumer:
        consumer.subscribe([settings.input_topic])
        while count > 0:
            if (found := consumer.poll(0.2)) and not found.error():
                started = started or time.perf_counter()
                with Session(engine, expire_on_commit=False) as session:
                    tracking, fulfillment, event = read(found, tables.classes)
                    session.add_all([tracking, fulfillment, event])
                    session.commit()
                    if http:
                        post_one(http, settings.audit_url, event.payload)
                        tracking.audited_at = "now"
                        session.commit()
                consumer.commit(message=found, asynchronous=False)
                count -= 1
        seconds = time.perf_counter() - started
    engine.dispose()
    return seconds


def read(found: Any, tables: Any) -> list[Any]:
    """Tracking, fulfillment and outbox of one order, with the same content as the service's own."""
    order, message_id = json.loads(found.value()), dict(found.headers())["message_id"].decode()
    event_id, fulfillment_id = (
        uuid5(NAMESPACE_URL, f"{kind}/{message_id}") for kind in ("event", "fulfillment")
    )
    total = str(sum(line["quantity"] * Decimal(line["unit_price"]) for line in order["lines"]))
    payload = {
        "message_id": message_id,
        "fulfillment_id": str(fulfillment_id),
        **order,
        "total": total,
    }
    known = {
        "message_id": message_id,
        "value_sha256": sha256(found.value()).digest(),
        "subscriber": "fulfillment",
    }
    place = {"topic": found.topic(), "partition": found.partition(), "offset": found.offset()}
    event = {
        "event_id": event_id,
        "aggregate_type": "fulfillment",
        "aggregate_id": order["order_id"],
    }
    event |= {
        "event_type": "order-fulfilled",
        "traceparent": f"00-{event_id.hex}-{event_id.hex[:16]}-00",
    }
    return [
        tables.tracking(**known, **place),
        tables.fulfillment(**payload),
        tables.outbox(**event, payload=payload),
    ]


def post_one(http: requests.Session, url: str, event: dict[str, str]) -> None:
    """One request for the entry of one event."""
    body = {
        "outcome": "fulfilled",
        **{n: event[n] for n in ("message_id", "order_id", "fulfillment_id", "total")},
    }
    headers = {"Idempotency-Key": f'"{uuid5(NAMESPACE_URL, "audit/" + event["message_id"])}"'}
    http.post(f"{url}/audit-entries", json=body, headers=headers, timeout=30).raise_for_status()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    handle(Settings(), sys.maxsize, requests.Session())
