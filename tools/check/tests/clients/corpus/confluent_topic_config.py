from confluent_kafka import Consumer, Producer

producer = Producer({"enable.idempotence": True, "default.topic.config": {"acks": 1}})
