"""Where the server is, who may change it, and where the passwords lie."""

from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict
from pydantic_settings import BaseSettings


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
        return {name: str(conninfo_to_dict(url)["dbname"]) for name, url in urls.items()}

    def connect(self, database: str, *, autocommit: bool = True) -> psycopg.Connection:
        """The administrator's way to a database, with no transaction but those that are asked for."""
        password = self.admin_database_password_file.read_text().strip()
        return psycopg.connect(
            self.admin_database_url, dbname=database, password=password, autocommit=autocommit
        )
