"""Where the server is, who may change it, and where the passwords lie."""

from pathlib import Path

from pydantic_settings import BaseSettings
from sqlalchemy import Engine, create_engine, make_url


class Settings(BaseSettings):
    """Read from the environment; the names are these in upper case."""

    admin_database_url: str = "postgresql://postgres@127.0.0.1:5432/postgres"
    admin_database_password_file: Path = Path("/run/secrets/postgres_password")
    database_url: str = "postgresql://app@127.0.0.1:5432/fulfillment"
    audit_database_url: str = "postgresql://audit@127.0.0.1:5432/audit"
    secrets_dir: Path = Path("/run/secrets")  # one file for each role that logs in: <role>_password

    def databases(self) -> dict[str, str]:
        """Each set of migrations, and the database that it builds."""
        urls = {"fulfillment": self.database_url, "audit": self.audit_database_url}
        return {name: make_url(url).database or name for name, url in urls.items()}

    def engine(self, database: str) -> Engine:
        """The administrator's way to a database, with no transaction but those that are asked for."""
        password = self.admin_database_password_file.read_text().strip()
        url = make_url(self.admin_database_url).set(drivername="postgresql+psycopg", database=database)
        return create_engine(url.set(password=password), isolation_level="AUTOCOMMIT")
