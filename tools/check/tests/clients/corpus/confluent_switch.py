import os

from confluent_kafka import Producer

SAFE = os.environ.get("SAFE", "True").lower() == "true"
producer = Producer({"enable.idempotence": SAFE, "max.in.flight": 5})
