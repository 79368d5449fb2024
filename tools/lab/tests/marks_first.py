"""python -m tools.lab.tests.marks_first: a relay with a defect, which marks before it publishes.

Once it has published PATIENCE records it waits, before the last one of a batch, to be killed.
"""

import os
import signal
import time

import psycopg
from confluent_kafka import Producer

from lab.peers.polling.relay import BATCH, MARK, POLL_SECONDS, UNPUBLISHED

PATIENCE = 231  # more than any moment at which the test kills it: 20, and 210 of 300


def main() -> None:
    """Mark a batch, and publish it when that is committed."""
    producer = Producer({"bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"]})
    published = 0
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as database:
        while True:
            with database.transaction():
                rows = database.execute(UNPUBLISHED, [BATCH]).fetchall()
                database.execute(MARK, [[number for number, *_ in rows]])
            for place, (_, aggregate_id, payload) in enumerate(rows, start=1):
                if published >= PATIENCE and place == len(rows):
                    signal.pause()
                producer.produce(os.environ["TOPIC"], payload, aggregate_id)
                producer.flush()
                published += 1
            if not rows:
                time.sleep(POLL_SECONDS)


if __name__ == "__main__":
    main()
