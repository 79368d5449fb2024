from aiokafka import AIOKafkaProducer
from pydantic import BaseModel, Field


class Settings(BaseModel):
    bootstrap_servers: str
    acks: str = Field("all")
    enable_idempotence: bool = True
    group_id: str = "orders"


class Open(Settings):
    pass


settings = Settings()
producer = AIOKafkaProducer(**settings.model_dump(exclude={"group_id"}))
unseen = AIOKafkaProducer(**Open().model_dump())
