"""faststream run lab.peers.faststream_outbox.relay:app: the relay of its quickstart.

SUBSCRIBER_SETTINGS has those of the subscriber as JSON; without any, they are its defaults.
"""

import json
import os
from typing import Any

from faststream import FastStream
from faststream.kafka import KafkaBroker
from faststream_outbox import OutboxBroker

from lab.peers.faststream_outbox.tables import QUEUE, make_engine, outbox_table

SETTINGS = json.loads(os.environ.get("SUBSCRIBER_SETTINGS", "{}"))

broker_outbox = OutboxBroker(make_engine(), outbox_table=outbox_table)
broker_kafka = KafkaBroker(os.environ["KAFKA_BOOTSTRAP_SERVERS"], acks="all")
publisher_kafka = broker_kafka.publisher(os.environ["TOPIC"])


@publisher_kafka
@broker_outbox.subscriber(QUEUE, **SETTINGS)
async def relay(body: dict[str, Any]) -> dict[str, Any]:
    """Hand on the message: what is returned is published."""
    return body


app = FastStream(broker_outbox, on_startup=[broker_kafka.connect])
