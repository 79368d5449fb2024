"""Every setting of the audit receiver, with its default and the reason for the number."""

from pathlib import Path

from pydantic_settings import BaseSettings

from access.audit import NO_FILE
from access.postgres import DatabaseUrl
from contract.names import AUDIT_DATABASE


class Settings(BaseSettings):
    """Read from the environment; the names are these in upper case."""

    audit_database_url: DatabaseUrl = f"postgresql://audit@127.0.0.1:5432/{AUDIT_DATABASE}"
    audit_database_password_file: Path = Path("/run/secrets/audit_password")
    audit_database_timeout_seconds: float = 4  # below the service's own patience with one request
    audit_lock_timeout_ms: int = 2000  # so long a second request waits for the answer of the first
    audit_host: str = "127.0.0.1"
    audit_port: int = 8081
    audit_body_bytes: int = 1024 * 1024  # a thousand entries; more is refused before it is read
    audit_body_seconds: float = 10  # a sender that trickles holds nothing for ever
    audit_batch_items: int = 1000
    audit_header_bytes: int = 16 * 1024  # of a request; more is refused
    audit_requests_per_second: float = 0  # of each caller; a service sends a few. 0: no limit
    audit_tokens_file: Path = NO_FILE  # a line for each caller; without a file, anybody may call
    audit_server_certificate_file: Path = NO_FILE  # with it and its key, HTTPS is spoken
    audit_server_key_file: Path = NO_FILE
    audit_client_ca_file: Path = NO_FILE  # callers must show a certificate of this CA
    log_level: str = "info"
