from confluent_kafka import Producer
from shop import settings as config
from shop.kafka import producer_conf

orders = Producer(producer_conf())
clicks = Producer(config.KAFKA["producer"])
