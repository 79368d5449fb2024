from aiokafka import AIOKafkaProducer


async def make():
    return AIOKafkaProducer(bootstrap_servers="kafka:9092")
