"""What every part learns when SECURE=true: whom it trusts, and who it is."""

from pathlib import Path

from connect.settings import kafka_password_file

ADMIN = "admin"  # makes users, topics and permissions; a super user of the broker
BROKER = "broker"  # what the broker is to itself; a super user, too
OPS = "ops"  # the commands of `pipeline`
CALLER = "service"  # whoever posts to the audit receiver: each entry has one, however it is sent

# Jobs that are somebody else than ops on the broker, by the module that is run.
PRINCIPALS = {
    "service.offsets": "service",
    "spark.land": "land",
    "spark.reconcile": "reconciler",
    "spark.retention": "reconciler",
}


class Security:
    """The files of a stack that is secured, and the settings that name them."""

    def __init__(self, run_dir: Path) -> None:
        self.tls = run_dir / "tls"
        self.secrets = run_dir / "secrets"
        self.ca = self.tls / "ca.pem"
        self.audit_token = self.secrets / "audit_token"
        self.audit_tokens = self.secrets / "audit_tokens"
        self.connect_password = self.secrets / "connect_password"
        self.keystore_password = self.secrets / "keystore_password"

    def of_a_database(self) -> str:
        """Return what a URL says behind its question mark."""
        return f"?sslmode=verify-full&sslrootcert={self.ca}"

    def environment(self) -> dict[str, str]:
        """Return the settings of every client."""
        return {
            "KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
            "KAFKA_SASL_MECHANISM": "SCRAM-SHA-512",
            "KAFKA_SSL_CA_FILE": str(self.ca),
            **self.log_in_as(OPS),
            "CONNECT_CA_FILE": str(self.ca),
            "CONNECT_USERNAME": OPS,
            "CONNECT_PASSWORD_FILE": str(self.connect_password),
            "AUDIT_CA_FILE": str(self.ca),
            "AUDIT_TOKEN_FILE": str(self.audit_token),
        }

    def log_in_as(self, principal: str) -> dict[str, str]:
        """Return the settings with which a part is this principal on the broker."""
        return {
            "KAFKA_SASL_USERNAME": principal,
            "KAFKA_SASL_PASSWORD_FILE": str(self.kafka_password(principal)),
        }

    def kafka_password(self, principal: str) -> Path:
        """Return where the password of a principal is."""
        return kafka_password_file(self.secrets, principal)

    def of_the_audit_receiver(self) -> dict[str, str]:
        """Return what the receiver shows, and whom it lets in."""
        return {
            "AUDIT_SERVER_CERTIFICATE_FILE": str(self.tls / "audit.crt"),
            "AUDIT_SERVER_KEY_FILE": str(self.tls / "audit.key"),
            "AUDIT_TOKENS_FILE": str(self.audit_tokens),
        }
