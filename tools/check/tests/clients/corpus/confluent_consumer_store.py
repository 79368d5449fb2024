from confluent_kafka import Consumer, Producer

consumer = Consumer({"group.id": "orders", "enable.auto.offset.store": False, "auto.offset.reset": "earliest"})
