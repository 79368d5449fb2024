from confluent_kafka import Consumer, Producer

producer = Producer({"enable.idempotence": True, "max.in.flight": 5})
