"""Where the broker, Connect and the databases are, and where the files are that describe what they shall hold."""

from pathlib import Path

from pydantic_settings import BaseSettings

CONNECT = Path(__file__).parent


class Settings(BaseSettings):
    """Read from the environment; the names are these in upper case."""

    kafka_bootstrap_servers: str = "kafka:9092"
    connect_url: str = "http://connect:8083"
    database_url: str = "postgresql://app@postgres:5432/fulfillment"
    audit_database_url: str = "postgresql://audit@postgres:5432/audit"
    secrets_dir: Path = Path("/run/secrets")  # as the worker sees it
    replication_factor: int = 1  # 3 in production: with one replica, acks=all is acks=1
    connect_timeout_seconds: float = 90  # for the broker, the worker or a connector to become ready

    def database(self, connector: str) -> str:
        """The database whose outbox this connector reads."""
        return self.audit_database_url if connector.startswith("audit") else self.database_url
