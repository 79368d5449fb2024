from confluent_kafka import Consumer, Producer

consumer = Consumer(
    {
        "group.id": "orders",
        "group.protocol": "consumer",
        "session.timeout.ms": 6000,
        "enable.auto.commit": False,
        "auto.offset.reset": "error",
    }
)
