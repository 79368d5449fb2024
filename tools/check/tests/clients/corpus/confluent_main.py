from confluent_kafka import Producer

if __name__ == "__main__":
    conf = {"bootstrap.servers": "kafka:9092"}
    conf.update({"enable.idempotence": True, "max.in.flight": 5})
    with open("/dev/null"):
        Producer(conf).flush()
