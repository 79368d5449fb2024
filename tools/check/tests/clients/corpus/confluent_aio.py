from confluent_kafka.aio import AIOConsumer, AIOProducer

SETTINGS = {"bootstrap.servers": "kafka:9092", "enable.idempotence": True}


async def positional() -> AIOProducer:
    return AIOProducer(SETTINGS, max_workers=5, buffer_timeout=0.5)


async def by_keyword() -> AIOProducer:
    return AIOProducer(max_workers=5, producer_conf={**SETTINGS, "acks": 1})


async def not_safe() -> AIOProducer:
    return AIOProducer({"bootstrap.servers": "kafka:9092"}, 5, None, 100)
