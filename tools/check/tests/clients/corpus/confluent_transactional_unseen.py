import socket

from confluent_kafka import Producer

producer = Producer({"transactional.id": socket.gethostname(), "enable.idempotence": False})
