"""`check --live` reads the same names as the pipeline's own clients, and makes the same of them."""

from pathlib import Path

import pytest

from access.connect import ConnectAccess
from access.connect import connect_session as pipeline_session
from access.kafka import KafkaAccess, kafka_connection
from pipeline_check.live import access as checker

BROKER = "kafka:9092"
TLS = {"KAFKA_SECURITY_PROTOCOL": "SSL", "KAFKA_SSL_CA_FILE": "/tls/ca.pem"}
SCRAM = {"KAFKA_SECURITY_PROTOCOL": "SASL_SSL", "KAFKA_SASL_USERNAME": "service"}
TOKEN = {
    "KAFKA_SASL_MECHANISM": "OAUTHBEARER",
    "KAFKA_SASL_TOKEN_URL": "https://login.example/token",
    "KAFKA_SASL_SCOPE": "kafka",
}
CERTIFICATE = {
    "KAFKA_SSL_CERTIFICATE_FILE": "/tls/service.crt",
    "KAFKA_SSL_KEY_FILE": "/tls/service.key",
}


@pytest.fixture
def secret(tmp_path: Path) -> str:
    """A password as an editor leaves it."""
    file = tmp_path / "password"
    file.write_text("s3cret\n")
    return str(file)


@pytest.mark.parametrize(
    "names",
    [
        {},
        TLS,
        TLS | CERTIFICATE,
        SCRAM,
        SCRAM | {"KAFKA_SASL_MECHANISM": "PLAIN"},
        SCRAM | TLS | {"KAFKA_SECURITY_PROTOCOL": "SASL_SSL"},
        SCRAM | TOKEN | {"KAFKA_SSL_CA_FILE": "/tls/ca.pem"},
    ],
)
def test_both_connect_to_kafka_in_the_same_way(
    names: dict[str, str], secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is set, the two clients have the same settings."""
    if "KAFKA_SASL_USERNAME" in names:
        names = names | {"KAFKA_SASL_PASSWORD_FILE": secret}
    for name, text in names.items():
        monkeypatch.setenv(name, text)
    assert checker.kafka_settings(names, BROKER) == kafka_connection(BROKER)


def test_both_read_the_same_file_of_further_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines like name=value, with comments and without."""
    file = tmp_path / "more"
    file.write_text("# why\nsocket.keepalive.enable = true\n\n")
    monkeypatch.setenv("KAFKA_CONFIG_FILE", str(file))
    found = checker.kafka_settings({"KAFKA_CONFIG_FILE": str(file)}, BROKER)
    assert found == kafka_connection(BROKER)
    assert found["socket.keepalive.enable"] == "true"


def test_no_name_of_the_pipeline_is_unknown_to_the_checker() -> None:
    """A setting that is new has to be read by both."""
    text = Path(checker.__file__).read_text()
    names = [*KafkaAccess.model_fields, *ConnectAccess.model_fields]
    names.remove("connect_url")  # the address, which it is given
    for name in names:
        assert f'"{name.upper()}"' in text


def test_both_call_connect_in_the_same_way(secret: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same CA, the same name and password, and nothing of the environment's."""
    names = {
        "CONNECT_URL": "https://connect:8083",
        "CONNECT_CA_FILE": "/tls/ca.pem",
        "CONNECT_USERNAME": "ops",
        "CONNECT_PASSWORD_FILE": secret,
    }
    for name, text in names.items():
        monkeypatch.setenv(name, text)
    ours, theirs = pipeline_session(), checker.connect_session(names)
    assert (ours.auth, ours.verify, ours.trust_env) == (theirs.auth, theirs.verify, False)
    assert theirs.trust_env is False
