"""python -m service.audit: the audit receiver, with the settings of the environment."""

import ssl
from typing import Any

import uvicorn

from access.audit import NO_FILE
from service.audit.app import create_app
from service.audit.callers import refuse_without_tokens
from service.audit.settings import Settings
from service.audit.spans import find_spans
from service.database import connect_to
from service.logs import configure_logs


def main() -> None:
    """Serve until SIGTERM; requests in progress are answered first."""
    settings = Settings()
    configure_logs(settings.log_level)
    if settings.audit_tokens_file != NO_FILE:
        refuse_without_tokens(settings.audit_tokens_file)
    engine = connect_to(
        settings.audit_database_url,
        settings.audit_database_password_file,
        settings.audit_database_timeout_seconds,
        options=f"-c lock_timeout={settings.audit_lock_timeout_ms}",
    )
    uvicorn.run(
        create_app(settings, engine, find_spans()),
        host=settings.audit_host,
        port=settings.audit_port,
        log_level="warning",
        http="h11",
        h11_max_incomplete_event_size=settings.audit_header_bytes,
        timeout_keep_alive=75,  # longer than a client's pause between two batches
        timeout_graceful_shutdown=5,
        **encryption(settings),
    )


def encryption(settings: Settings) -> dict[str, Any]:
    """Return how HTTPS is spoken, if it is."""
    if settings.audit_server_certificate_file == NO_FILE:
        return {}
    options: dict[str, Any] = {
        "ssl_certfile": settings.audit_server_certificate_file,
        "ssl_keyfile": settings.audit_server_key_file,
    }
    if settings.audit_client_ca_file != NO_FILE:
        options["ssl_ca_certs"] = str(settings.audit_client_ca_file)
        options["ssl_cert_reqs"] = ssl.CERT_REQUIRED
    return options


main()
