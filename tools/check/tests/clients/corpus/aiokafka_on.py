from aiokafka import AIOKafkaProducer


async def make():
    return AIOKafkaProducer(bootstrap_servers="kafka:9092", enable_idempotence=True)
