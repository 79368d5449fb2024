"""Where the server is, who may change it, and where the passwords are."""

from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict
from pydantic_settings import BaseSettings

from access.postgres import DatabaseUrl
from contract.names import AUDIT_DATABASE, DATABASE


class Settings(BaseSettings):
    """Read from the environment; the names are these in upper case."""

    admin_database_url: DatabaseUrl = "postgresql://postgres@127.0.0.1:5432/postgres"
    admin_database_password_file: Path = Path("/run/secrets/postgres_password")
    database_url: DatabaseUrl = f"postgresql://app@127.0.0.1:5432/{DATABASE}"
    audit_database_url: DatabaseUrl = f"postgresql://audit@127.0.0.1:5432/{AUDIT_DATABASE}"
    secrets_dir: Path = Path("/run/secrets")  # one file for each role that logs in: <role>_password

    def databases(self) -> dict[str, str]:
        """Return the database that each set of revisions builds; settings may rename it."""
        urls = {
            DATABASE: self.database_url,
            AUDIT_DATABASE: self.audit_database_url,
        }
        databases = {}
        for name, url in urls.items():
            address = conninfo_to_dict(url)
            databases[name] = str(address["dbname"])
        return databases

    def connect(self, database: str, *, autocommit: bool = True) -> psycopg.Connection:
        """Connect to a database as the administrator, by default without any transaction."""
        password = self.admin_database_password_file.read_text().strip()
        return psycopg.connect(
            self.admin_database_url, dbname=database, password=password, autocommit=autocommit
        )
