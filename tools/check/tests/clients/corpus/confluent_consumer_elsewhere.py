from confluent_kafka import Consumer, Producer

from app.settings import settings

consumer = Consumer(settings.kafka())
