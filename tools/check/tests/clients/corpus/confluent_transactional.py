from confluent_kafka import Consumer, Producer

producer = Producer({"transactional.id": "orders-1", "socket.timeout.ms": 59900, "max.in.flight": 5, "message.timeout.ms": 60000})
