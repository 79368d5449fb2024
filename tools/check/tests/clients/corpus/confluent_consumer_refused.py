from confluent_kafka import Consumer, Producer

consumer = Consumer(
    {
        "group.id": "orders",
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "max.poll.interval.ms": 40000,
    }
)
