from confluent_kafka import Consumer, Producer

conf = {"bootstrap.servers": "kafka:9092"}
if __debug__:
    conf["enable.idempotence"] = True
producer = Producer(conf)
