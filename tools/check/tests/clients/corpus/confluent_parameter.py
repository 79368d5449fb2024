from confluent_kafka import Consumer, Producer


def make(conf):
    return Producer({"bootstrap.servers": "kafka:9092", **conf})
