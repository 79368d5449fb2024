import os

from confluent_kafka import Producer

producer = Producer(
    {
        "enable.idempotence": True,
        "request.required.acks": os.environ["ACKS"],
        "max.in.flight": 5,
    }
)
