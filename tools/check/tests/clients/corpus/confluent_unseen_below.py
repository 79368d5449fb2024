from confluent_kafka import Producer


def make(conf):
    return Producer({**conf, "enable.idempotence": False, "acks": 1})
