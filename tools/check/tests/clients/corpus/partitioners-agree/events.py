from confluent_kafka import Consumer, Producer

producer = Producer({"enable.idempotence": True, "max.in.flight": 5, "partitioner": "murmur2_random"})
