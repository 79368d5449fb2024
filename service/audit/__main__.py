"""python -m service.audit: the audit receiver, with the settings of the environment."""

import uvicorn

from service.audit.app import create_app
from service.audit.settings import Settings
from service.database import connect_to
from service.logs import configure_logs


def main() -> None:
    """Serve until SIGTERM; requests in work are answered first."""
    settings = Settings()
    configure_logs(settings.log_level)
    url, password_file = settings.audit_database_url, settings.audit_database_password_file
    options = f"-c lock_timeout={settings.audit_lock_timeout_ms}"
    engine = connect_to(url, password_file, settings.audit_database_timeout_seconds, options)
    app, host, port = create_app(settings, engine), settings.audit_host, settings.audit_port
    # Kept alive for longer than a client's pause between batches: it need not connect anew.
    uvicorn.run(
        app,
        host=host,
        port=port,
        log_level="warning",
        timeout_keep_alive=75,
        timeout_graceful_shutdown=5,
    )


main()
