from confluent_kafka import Consumer, Producer

producer = Producer({"enable.idempotence": True, "queuing.strategy": "lifo"})
