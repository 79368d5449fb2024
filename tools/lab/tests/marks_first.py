"""python -m tools.lab.tests.marks_first: a relay with a defect, which marks before it publishes."""

import os
import time

import psycopg
from confluent_kafka import Producer

from lab.peers.polling.relay import BATCH, MARK, POLL_SECONDS, UNPUBLISHED


def main() -> None:
    """Mark a batch, and publish it when that is committed."""
    producer = Producer({"bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"]})
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as database:
        while True:
            with database.transaction():
                rows = database.execute(UNPUBLISHED, [BATCH]).fetchall()
                database.execute(MARK, [[number for number, *_ in rows]])
            for _, aggregate_id, payload in rows:
                producer.produce(os.environ["TOPIC"], payload, aggregate_id)
                producer.flush()
            if not rows:
                time.sleep(POLL_SECONDS)


if __name__ == "__main__":
    main()
