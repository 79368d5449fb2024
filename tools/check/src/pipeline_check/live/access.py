"""How --live logs in, and whom it trusts: by the names that the pipeline's own clients read."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import requests

Environment = Mapping[str, str]
Settings = dict[str, Any]  # of a client

# What librdkafka calls it.
TLS = {
    "KAFKA_SSL_CA_FILE": "ssl.ca.location",
    "KAFKA_SSL_CERTIFICATE_FILE": "ssl.certificate.location",
    "KAFKA_SSL_KEY_FILE": "ssl.key.location",
}
TOKEN = {
    "KAFKA_SASL_TOKEN_URL": "sasl.oauthbearer.token.endpoint.url",
    "KAFKA_SASL_USERNAME": "sasl.oauthbearer.client.id",
    "KAFKA_SASL_SCOPE": "sasl.oauthbearer.scope",
    "KAFKA_SSL_CA_FILE": "https.ca.location",
}


def kafka_settings(environment: Environment, bootstrap: str) -> Settings:
    """Return how a client connects; nothing more for a broker that asks for nothing."""
    settings = from_file(environment.get("KAFKA_CONFIG_FILE", ""))
    settings["bootstrap.servers"] = bootstrap
    protocol = environment.get("KAFKA_SECURITY_PROTOCOL") or "PLAINTEXT"
    if protocol == "PLAINTEXT":
        return settings
    settings["security.protocol"] = protocol
    settings |= named(environment, TLS)
    if protocol.startswith("SASL"):
        settings |= login(environment)
    return settings


def login(environment: Environment) -> Settings:
    """Return with which name and secret a client logs in."""
    mechanism = environment.get("KAFKA_SASL_MECHANISM") or "SCRAM-SHA-512"
    secret = read_secret(needed(environment, "KAFKA_SASL_PASSWORD_FILE"))
    if mechanism == "OAUTHBEARER":
        return {
            "sasl.mechanism": mechanism,
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.client.secret": secret,
            **named(environment, TOKEN),
        }
    return {
        "sasl.mechanism": mechanism,
        "sasl.username": needed(environment, "KAFKA_SASL_USERNAME"),
        "sasl.password": secret,
    }


def needed(environment: Environment, name: str) -> str:
    """Return what a setting says; a login without it is none."""
    text = environment.get(name)
    if not text:
        raise ValueError(f"{name} is not set")
    return text


def named(environment: Environment, names: Mapping[str, str]) -> Settings:
    """Return what is set, under the client's names."""
    return {ours: environment[name] for name, ours in names.items() if environment.get(name)}


def from_file(name: str) -> Settings:
    """Return what a file of lines like name=value says."""
    if not name:
        return {}
    settings: Settings = {}
    for line in Path(name).read_text().splitlines():
        key, equals, value = (part.strip() for part in line.partition("="))
        if equals and not key.startswith("#"):
            settings[key] = value
    return settings


def read_secret(file: str) -> str:
    """Return the secret in a file, without the line's end that editors put behind it."""
    return Path(file).read_text().rstrip("\r\n")


def connect_session(environment: Environment) -> requests.Session:
    """Return what calls Connect's REST API."""
    session = requests.Session()
    # Else the environment's own CA file would win over this one, and .netrc over this password.
    session.trust_env = False
    if environment.get("CONNECT_CA_FILE"):
        session.verify = environment["CONNECT_CA_FILE"]
    if environment.get("CONNECT_USERNAME"):
        password = read_secret(needed(environment, "CONNECT_PASSWORD_FILE"))
        session.auth = (environment["CONNECT_USERNAME"], password)
    return session
