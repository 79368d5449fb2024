from pydantic_settings import BaseSettings


class Settings(BaseSettings):
    servers: str = "kafka:9092"
    idempotent: bool = True


settings = Settings()
KAFKA = {"producer": {"acks": "1", "retries": 5}}
