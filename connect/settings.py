"""Where the broker, Connect and the databases are."""

from pathlib import Path
from typing import Annotated

from pydantic import Field
from pydantic_settings import BaseSettings

from access.postgres import DatabaseUrl
from contract.names import AUDIT_DATABASE, DATABASE, INPUT_TOPIC, SUBSCRIBER


class Settings(BaseSettings):
    """Read from the environment; the names are these in upper case."""

    kafka_bootstrap_servers: str = "kafka:9092"
    connect_url: str = "http://connect:8083"
    database_url: DatabaseUrl = f"postgresql://app@postgres:5432/{DATABASE}?sslmode=disable"
    audit_database_url: DatabaseUrl = (
        f"postgresql://audit@postgres:5432/{AUDIT_DATABASE}?sslmode=disable"
    )
    input_topic: str = INPUT_TOPIC
    group_id: str = SUBSCRIBER
    secrets_dir: Path = Path("/run/secrets")  # as the worker sees it
    replication_factor: int = 1  # 3 in production: with one replica, acks=all is acks=1
    # What a lone event may wait; None: poll.interval.ms of the connectors' files.
    connector_poll_ms: Annotated[int, Field(ge=1)] | None = None
    connect_timeout_seconds: float = 90  # for the broker, the worker or a connector to become ready

    def databases(self) -> dict[str, str]:
        """Return where each database is, by the name that the connectors' files use."""
        return {
            DATABASE: self.database_url,
            AUDIT_DATABASE: self.audit_database_url,
        }


def kafka_password_file(secrets_dir: Path, principal: str) -> Path:
    """Return where the password is with which a principal logs in on the broker."""
    return secrets_dir / f"kafka_{principal}_password"
