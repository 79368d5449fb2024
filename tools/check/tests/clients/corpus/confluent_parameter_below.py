from confluent_kafka import Consumer, Producer


def make(conf):
    return Producer({**conf, "enable.idempotence": True, "acks": "all", "retries": 5000, "max.in.flight.requests.per.connection": 5})
