"""One set of names for every Kafka client: how it connects, logs in, and whom it trusts."""

from pathlib import Path
from typing import Any, Literal, Self

from pydantic import model_validator
from pydantic_settings import BaseSettings

from access.kafka_file import read_config

Config = dict[str, Any]
NO_FILE = Path()  # not set, or set to nothing


class KafkaAccess(BaseSettings):
    """Read from the environment; the names are these in upper case.

    A file is read each time a client is made, so that a rotated password needs no new setting.
    """

    kafka_security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    kafka_sasl_mechanism: Literal["SCRAM-SHA-512", "PLAIN", "OAUTHBEARER"] = "SCRAM-SHA-512"
    kafka_sasl_username: str = ""  # of OAUTHBEARER: the client's id
    kafka_sasl_password_file: Path = NO_FILE  # of OAUTHBEARER: the client's secret
    kafka_sasl_token_url: str = ""  # of OAUTHBEARER: where a token is fetched
    kafka_sasl_scope: str = ""
    kafka_ssl_ca_file: Path = NO_FILE  # without one: what the machine trusts
    kafka_ssl_certificate_file: Path = NO_FILE  # of the client, where the broker asks for one
    kafka_ssl_key_file: Path = NO_FILE
    kafka_config_file: Path = NO_FILE  # whatever else librdkafka may be told

    @property
    def has_tls(self) -> bool:
        """Return whether the connection is encrypted."""
        return self.kafka_security_protocol.endswith("SSL")

    @property
    def has_login(self) -> bool:
        """Return whether the client logs in with a name."""
        return self.kafka_security_protocol.startswith("SASL")

    @property
    def has_credentials(self) -> bool:
        """Return whether name and password are there."""
        return bool(self.kafka_sasl_username) and self.kafka_sasl_password_file != NO_FILE

    @property
    def has_token(self) -> bool:
        """Return whether it logs in with a token instead of a password."""
        return self.has_login and self.kafka_sasl_mechanism == "OAUTHBEARER"

    @model_validator(mode="after")
    def _all_that_is_needed_is_set(self) -> Self:
        """Refuse a login without a name, and a certificate that nobody would look at."""
        protocol = f"KAFKA_SECURITY_PROTOCOL={self.kafka_security_protocol}"
        if self.has_login and not self.has_credentials:
            raise ValueError(
                f"{protocol}: set KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD_FILE as well"
            )
        if self.has_token and not self.kafka_sasl_token_url:
            raise ValueError("KAFKA_SASL_MECHANISM=OAUTHBEARER: set KAFKA_SASL_TOKEN_URL as well")
        if self.kafka_sasl_username and not self.has_login:
            raise ValueError(
                f"{protocol} logs nobody in: KAFKA_SASL_USERNAME needs SASL_SSL, or SASL_PLAINTEXT"
            )
        if self.kafka_ssl_ca_file != NO_FILE and not self.has_tls:
            raise ValueError(
                f"{protocol} encrypts nothing: KAFKA_SSL_CA_FILE needs SSL or SASL_SSL"
            )
        certificate_and_key = (self.kafka_ssl_certificate_file, self.kafka_ssl_key_file)
        if certificate_and_key.count(NO_FILE) == 1:
            raise ValueError("KAFKA_SSL_CERTIFICATE_FILE and KAFKA_SSL_KEY_FILE belong together")
        return self


def kafka_connection(bootstrap_servers: str, access: KafkaAccess | None = None) -> Config:
    """Return how a client in Python connects; its own settings come behind these.

    What a file of the user's says comes first, so that it changes nothing that a promise needs.
    """
    access = access or KafkaAccess()
    config: Config = {}
    if access.kafka_config_file != NO_FILE:
        config |= read_config(access.kafka_config_file)
    return config | {"bootstrap.servers": bootstrap_servers} | librdkafka(access)


def librdkafka(access: KafkaAccess) -> Config:
    """Return how a client of librdkafka connects; nothing for a broker that asks for nothing."""
    if access.kafka_security_protocol == "PLAINTEXT":
        return {}
    config: Config = {"security.protocol": access.kafka_security_protocol}
    if access.kafka_ssl_ca_file != NO_FILE:
        config["ssl.ca.location"] = str(access.kafka_ssl_ca_file)
    if access.kafka_ssl_certificate_file != NO_FILE:
        config["ssl.certificate.location"] = str(access.kafka_ssl_certificate_file)
        config["ssl.key.location"] = str(access.kafka_ssl_key_file)
    if access.has_login:
        config["sasl.mechanism"] = access.kafka_sasl_mechanism
    if access.has_token:
        return config | token_from_url(access)
    if access.has_login:
        config["sasl.username"] = access.kafka_sasl_username
        config["sasl.password"] = read_secret(access.kafka_sasl_password_file)
    return config


def token_from_url(access: KafkaAccess) -> Config:
    """Return how librdkafka fetches its tokens, and again before they expire."""
    config: Config = {
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.token.endpoint.url": access.kafka_sasl_token_url,
        "sasl.oauthbearer.client.id": access.kafka_sasl_username,
        "sasl.oauthbearer.client.secret": read_secret(access.kafka_sasl_password_file),
    }
    if access.kafka_sasl_scope:
        config["sasl.oauthbearer.scope"] = access.kafka_sasl_scope
    if access.kafka_ssl_ca_file != NO_FILE:
        config["https.ca.location"] = str(access.kafka_ssl_ca_file)
    return config


def read_secret(file: Path) -> str:
    """Return the secret in a file, without the line's end that editors put behind it."""
    return file.read_text().rstrip("\r\n")
