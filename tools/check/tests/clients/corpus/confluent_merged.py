import os

import confluent_kafka as ck

BASE = {"bootstrap.servers": os.environ["KAFKA"], "enable.idempotence": False}
SAFE = {**BASE, "enable.idempotence": True, "max.in.flight": 1 + 4}


def make():
    settings = SAFE | {"linger.ms": 5}
    settings["acks"] = os.environ.get("ACKS", "all")
    return ck.Producer(settings)
