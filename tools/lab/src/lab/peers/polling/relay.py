"""python -m lab.peers.polling.relay: publish what is not marked as published, then mark it."""

import os
import time
from typing import Any

import psycopg
from confluent_kafka import Producer

BATCH = 100
POLL_SECONDS = 1.0  # when there was nothing to publish

UNPUBLISHED = """
    select id, aggregate_id, payload::text
    from outbox
    where published_at is null
    order by id
    limit %s
    for update skip locked
"""
MARK = "update outbox set published_at = now() where id = any(%s)"


def main() -> None:
    """Publish batch after batch; where there is none, wait."""
    producer = Producer(
        {
            "bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"],
            "acks": "all",
        }
    )
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as database:
        while True:
            if not publish(database, producer, os.environ["TOPIC"]):
                time.sleep(POLL_SECONDS)


def publish(database: psycopg.Connection[Any], producer: Producer, topic: str) -> int:
    """Publish one batch and mark it, in one transaction; return how many there were."""
    with database.transaction():
        rows = database.execute(UNPUBLISHED, [BATCH]).fetchall()
        for _, aggregate_id, payload in rows:
            producer.produce(topic, payload, aggregate_id)
        producer.flush()
        database.execute(MARK, [[number for number, *_ in rows]])
    return len(rows)


if __name__ == "__main__":
    main()
