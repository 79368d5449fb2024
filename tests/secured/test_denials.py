"""Who is denied what on a secured stack; beside each denial, the same act by whom it belongs to."""

from pathlib import Path
from typing import Any

import psycopg
import pytest
import requests
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient
from psycopg.conninfo import make_conninfo

from access.connect import ConnectAccess, connect_session
from access.kafka import KafkaAccess, kafka_connection
from access.kafka_login import find_reason
from ops.security import Security
from ops.stack.certificates import make_ca
from ops.stack.stack import Stack

SOON = 10
CONNECTOR = "fulfillment-outbox"


# PostgreSQL.


def log_in(stack: Stack, role: str, **changes: Any) -> psycopg.Connection[Any]:
    """Connect to the business's database as this role; the password is in its file."""
    password = (stack.settings.secrets_dir / f"{role}_password").read_text()
    address = make_conninfo(stack.env()["DATABASE_URL"], user=role, **changes)
    return psycopg.connect(address, password=password, autocommit=True)


def test_a_connection_to_postgres_without_encryption_is_refused(stack: Stack) -> None:
    """The same role and password: with TLS it is let in, without it is not."""
    with pytest.raises(psycopg.OperationalError, match="no encryption"):
        log_in(stack, "app", sslmode="disable")
    with log_in(stack, "app") as session:
        assert session.pgconn.ssl_in_use


def test_a_client_of_postgres_trusts_our_ca_alone(stack: Stack, tmp_path: Path) -> None:
    """With another CA it does not connect."""
    with pytest.raises(psycopg.OperationalError, match="certificate verify failed"):
        log_in(stack, "app", sslrootcert=str(make_ca(tmp_path)))


def test_a_server_by_another_name_is_not_trusted(stack: Stack) -> None:
    """The certificate is for localhost and 127.0.0.1; the same server by another address is not."""
    with pytest.raises(psycopg.OperationalError, match="does not match host name"):
        log_in(stack, "app", host="127.0.0.1.invalid", hostaddr="127.0.0.1")


@pytest.mark.parametrize(
    ("statement", "may", "may_not"),
    [
        ("select count(*) from tracking", "reconciler", "cdc"),
        ("update outbox set payload = payload where false", "postgres", "app"),
    ],
)
def test_a_role_has_its_own_rights_alone(
    stack: Stack, statement: str, may: str, may_not: str
) -> None:
    """The statement is one role's, and another is refused by the database itself."""
    with log_in(stack, may) as session:
        session.execute(statement.encode())
    with log_in(stack, may_not) as session, pytest.raises(psycopg.errors.InsufficientPrivilege):
        session.execute(statement.encode())


def test_only_the_standby_copies_the_server(stack: Stack) -> None:
    """The role that reads the log for Connect may replicate, and yet has no way to a copy."""
    with pytest.raises(psycopg.OperationalError, match="entry for replication connection"):
        log_in(stack, "cdc", replication="true")
    log_in(stack, "standby", replication="true").close()


# Kafka.


def as_principal(security: Security, name: str, **changes: Any) -> KafkaAccess:
    """Return how this principal logs in."""
    names = security.environment() | security.log_in_as(name)
    fields = {key.lower(): text for key, text in names.items() if key.startswith("KAFKA_")}
    return KafkaAccess(**{**fields, **changes})


def produce(stack: Stack, access: KafkaAccess, topic: str) -> str:
    """Send a record, and return the name of the refusal."""
    said: list[str] = []
    producer = Producer(kafka_connection(stack.env()["KAFKA_BOOTSTRAP_SERVERS"], access))
    producer.produce(
        topic, b"{", on_delivery=lambda error, _: said.append(error.name() if error else "")
    )
    assert producer.flush(SOON) == 0
    return said[0]


def test_only_who_sends_orders_writes_to_their_topic(stack: Stack, security: Security) -> None:
    """Landing reads the same topic, and may not write to it."""
    topic = stack.env()["INPUT_TOPIC"]
    refusal = produce(stack, as_principal(security, "land"), topic)
    assert refusal == "TOPIC_AUTHORIZATION_FAILED"
    assert produce(stack, as_principal(security, "producer"), topic) == ""


def test_the_broker_lets_nobody_in_without_encryption(
    stack: Stack, security: Security, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client without any setting is told which one it lacks."""
    servers = stack.env()["KAFKA_BOOTSTRAP_SERVERS"]
    assert not find_reason(servers, as_principal(security, "service"))
    for name in security.environment():
        monkeypatch.delenv(name)
    assert "KAFKA_SECURITY_PROTOCOL=PLAINTEXT" in find_reason(servers, KafkaAccess())


def test_the_controller_lets_nobody_in_without_a_certificate(
    stack: Stack, security: Security
) -> None:
    """Its listener asks for one of our CA's, which the broker alone has."""
    servers = f"127.0.0.1:{stack.settings.kafka_controller_port}"
    config: dict[str, Any] = {
        "bootstrap.servers": servers,
        "security.protocol": "SSL",
        "ssl.ca.location": str(security.ca),
        "log_level": 0,
    }
    with pytest.raises(KafkaException):
        AdminClient(config).list_topics(timeout=3)


# Connect's REST API.


def test_connect_answers_nobody_without_a_password(stack: Stack, tmp_path: Path) -> None:
    """Neither without one nor with a wrong one; nor in clear, nor to a client of another CA."""
    url = stack.env()["CONNECT_URL"]
    access = ConnectAccess()
    ca = str(access.connect_ca_file)
    wrong = (access.connect_username, "wrong")
    for path in ("/", "/connectors", "/health", f"/connectors/{CONNECTOR}/config"):
        assert requests.get(f"{url}{path}", verify=ca, timeout=SOON).status_code == 401
        assert requests.get(f"{url}{path}", verify=ca, auth=wrong, timeout=SOON).status_code == 401
    with pytest.raises(requests.ConnectionError):
        requests.get(url.replace("https", "http"), timeout=SOON)
    with pytest.raises(requests.exceptions.SSLError):
        requests.get(url, verify=str(make_ca(tmp_path)), timeout=SOON)
    with connect_session() as session:
        assert CONNECTOR in session.get(f"{url}/connectors", timeout=SOON).json()


def config_of(stack: Stack) -> dict[str, str]:
    """Return the settings of a connector that runs."""
    with connect_session() as session:
        url = f"{stack.env()['CONNECT_URL']}/connectors/{CONNECTOR}/config"
        found: dict[str, str] = session.get(url, timeout=SOON).json()
    return found


def validate(stack: Stack, changes: dict[str, str]) -> requests.Response:
    """Ask Connect what it thinks of the same connector with these changes."""
    config = config_of(stack) | changes
    plugin = config["connector.class"].rpartition(".")[2]
    url = f"{stack.env()['CONNECT_URL']}/connector-plugins/{plugin}/config/validate"
    with connect_session() as session:
        return session.put(url, json=config, timeout=SOON)


def errors(answer: requests.Response) -> list[str]:
    """Return what is wrong with a connector."""
    return [error for one in answer.json()["configs"] for error in one["value"]["errors"]]


def test_a_connector_does_not_choose_who_it_is(stack: Stack) -> None:
    """It may not override how its producer logs in; as it is, it has no error."""
    override = {"producer.override.sasl.jaas.config": "com.example.Module required;"}
    [refusal] = errors(validate(stack, override))
    assert "policy does not allow 'sasl.jaas.config' to be overridden" in refusal
    assert errors(validate(stack, {})) == []


def test_a_connector_reads_no_file_beside_the_secrets(
    stack: Stack, security: Security, tmp_path: Path
) -> None:
    """The same password in a folder that is not allowed is not read: Postgres refuses the login."""
    (tmp_path / "cdc_password").write_text((security.secrets / "cdc_password").read_text())
    outside = {"database.password": f"${{dir:{tmp_path}:cdc_password}}"}
    assert any(
        "password authentication failed" in error for error in errors(validate(stack, outside))
    )
    inside = {"database.password": f"${{dir:{security.secrets}:cdc_password}}"}
    assert errors(validate(stack, inside)) == []


# The audit receiver.


def test_the_audit_receiver_takes_entries_from_nobody_else(
    stack: Stack, security: Security, tmp_path: Path
) -> None:
    """Neither without the token nor with another, nor in clear, nor from a client of another CA."""
    url = f"{stack.env()['AUDIT_URL']}/audit-entries"
    token = security.audit_token.read_text()

    def post(sent: dict[str, str], url: str = url, ca: Path = security.ca) -> int:
        answer = requests.post(url, json={}, headers=sent, verify=str(ca), timeout=SOON)
        return answer.status_code

    assert post({}) == 401
    assert post({"Authorization": "Bearer wrong"}) == 401
    with pytest.raises(requests.ConnectionError):
        post({"Authorization": f"Bearer {token}"}, url=url.replace("https", "http"))
    with pytest.raises(requests.exceptions.SSLError):
        post({"Authorization": f"Bearer {token}"}, ca=make_ca(tmp_path))
    assert post({"Authorization": f"Bearer {token}"}) == 400  # let in, and then read
