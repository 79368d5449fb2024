from aiokafka import AIOKafkaProducer

SETTINGS = dict(enable_idempotence=True, acks=0)


async def make():
    return AIOKafkaProducer(**SETTINGS)
