"""python -m service.audit: the audit receiver, with the settings of the environment."""

import uvicorn

from service.audit.app import create_app
from service.audit.settings import Settings
from service.database import connect_to
from service.logs import configure_logs


def main() -> None:
    """Serve until SIGTERM; requests in progress are answered first."""
    settings = Settings()
    configure_logs(settings.log_level)
    engine = connect_to(
        settings.audit_database_url,
        settings.audit_database_password_file,
        settings.audit_database_timeout_seconds,
        options=f"-c lock_timeout={settings.audit_lock_timeout_ms}",
    )
    uvicorn.run(
        create_app(settings, engine),
        host=settings.audit_host,
        port=settings.audit_port,
        log_level="warning",
        timeout_keep_alive=75,  # longer than a client's pause between two batches
        timeout_graceful_shutdown=5,
    )


main()
