from confluent_kafka import Producer


def make(sasl: bool):
    conf = {"bootstrap.servers": "kafka:9092", "acks": "1"}
    if sasl:
        conf.update({"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"})
        conf["sasl.username"] = "orders"
    return Producer(conf)
