import os

from confluent_kafka import Producer

producer = Producer({"enable.idempotence": os.environ["IDEMPOTENCE"], "max.in.flight": 5})
