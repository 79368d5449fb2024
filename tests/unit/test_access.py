"""How clients log in and whom they trust: by settings alone, and never by breaking a promise."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from access.audit import AuditAccess
from access.connect import ConnectAccess, connect_session
from access.kafka import KafkaAccess, kafka_connection
from access.kafka_file import ELSEWHERE, PROMISES, ConfigFileError, read_config
from access.kafka_java import java_client, spark_source
from access.postgres import refuse_without_sslmode
from connect.files import connector_files
from connect.register import read_connector
from connect.settings import Settings as ConnectSettings
from contract.names import AUDIT_DATABASE, DATABASE
from migrations.settings import Settings as MigrationSettings
from service.settings import Settings as ServiceSettings
from spark.settings import Settings as SparkSettings

BROKER = "kafka:9092"
PLAIN = {"bootstrap.servers": BROKER}
SECRET = "s3cret-word"


@pytest.fixture
def password(tmp_path: Path) -> Path:
    """A password as an editor leaves it, with the end of the line."""
    file = tmp_path / "service_password"
    file.write_text(f"{SECRET}\n")
    return file


def secured(password: Path, **more: Any) -> KafkaAccess:
    """Return what most companies have."""
    return KafkaAccess(
        kafka_security_protocol="SASL_SSL",
        kafka_sasl_username="service",
        kafka_sasl_password_file=password,
        kafka_ssl_ca_file=Path("/tls/ca.pem"),
        **more,
    )


def test_without_settings_a_client_has_its_own_settings_alone() -> None:
    """Nothing is added, so that a plain broker is asked as before."""
    assert kafka_connection(BROKER, KafkaAccess()) == PLAIN
    assert java_client(KafkaAccess()) == {}


def test_a_client_in_python_logs_in_and_checks_the_broker(password: Path) -> None:
    """Name, password and CA are handed over, and nothing weakens the check of the certificate."""
    found = kafka_connection(BROKER, secured(password))
    assert found == PLAIN | {
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": "/tls/ca.pem",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "service",
        "sasl.password": SECRET,
    }


def test_a_rotated_password_is_read_by_the_next_client(password: Path) -> None:
    """The file is read each time, so that nothing needs to be started again."""
    access = secured(password)
    assert kafka_connection(BROKER, access)["sasl.password"] == SECRET
    password.write_text("another")
    assert kafka_connection(BROKER, access)["sasl.password"] == "another"


def test_a_client_in_java_gets_a_placeholder_and_never_the_secret(password: Path) -> None:
    """What Spark could log, plan or write to a checkpoint does not contain the password."""
    found = spark_source("kafka:9092", secured(password))
    assert SECRET not in str(found)
    assert f"${{dir:{password.parent}:{password.name}}}" in found["kafka.sasl.jaas.config"]
    allowed = found["kafka.config.providers.dir.param.allowed.paths"]
    assert allowed == str(password.parent)
    assert found["kafka.ssl.truststore.location"] == "/tls/ca.pem"


def test_a_client_may_show_a_certificate_of_its_own(password: Path) -> None:
    """Certificate and key go to both kinds of clients; Java reads them by placeholders."""
    certificate, key = Path("/tls/client.crt"), Path("/tls/client.key")
    access = secured(password, kafka_ssl_certificate_file=certificate, kafka_ssl_key_file=key)
    found = kafka_connection(BROKER, access)
    assert found["ssl.certificate.location"] == "/tls/client.crt"
    assert found["ssl.key.location"] == "/tls/client.key"
    java = java_client(access)
    assert java["ssl.keystore.key"] == "${dir:/tls:client.key}"
    allowed = java["config.providers.dir.param.allowed.paths"].split(",")
    assert set(allowed) == {str(password.parent), "/tls"}


def test_a_token_is_fetched_by_the_client_itself(password: Path) -> None:
    """With OAUTHBEARER the file holds the client's secret; no token is in the settings."""
    access = secured(
        password, kafka_sasl_mechanism="OAUTHBEARER", kafka_sasl_token_url="https://login/token"
    )
    found = kafka_connection(BROKER, access)
    assert found["sasl.oauthbearer.token.endpoint.url"] == "https://login/token"
    assert found["sasl.oauthbearer.client.secret"] == SECRET
    assert "sasl.password" not in found
    assert SECRET not in str(java_client(access))


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"kafka_security_protocol": "SASL_SSL"}, "set KAFKA_SASL_USERNAME and"),
        ({"kafka_ssl_ca_file": "/ca.pem"}, "PLAINTEXT encrypts nothing: KAFKA_SSL_CA_FILE needs"),
        ({"kafka_sasl_username": "me"}, "PLAINTEXT logs nobody in: KAFKA_SASL_USERNAME needs"),
        (
            {"kafka_security_protocol": "SSL", "kafka_ssl_key_file": "/key"},
            "KAFKA_SSL_CERTIFICATE_FILE and KAFKA_SSL_KEY_FILE belong together",
        ),
        (
            {
                "kafka_security_protocol": "SASL_SSL",
                "kafka_sasl_mechanism": "OAUTHBEARER",
                "kafka_sasl_username": "me",
                "kafka_sasl_password_file": "/secret",
            },
            "set KAFKA_SASL_TOKEN_URL as well",
        ),
        ({"kafka_security_protocol": "TLS"}, "Input should be 'PLAINTEXT', 'SSL'"),
    ],
)
def test_half_of_a_setting_is_refused(settings: dict[str, Any], sentence: str) -> None:
    """What is missing, or would be ignored in silence, is named."""
    with pytest.raises(ValidationError, match=sentence):
        KafkaAccess(**settings)


@pytest.mark.parametrize("name", ["audit_ca_file", "audit_token_file"])
def test_no_token_is_sent_in_clear(name: str) -> None:
    """Without https, a token or a CA is refused with its setting; with it, both are taken."""
    given: dict[str, Any] = {name: Path("/file")}
    with pytest.raises(ValidationError, match=f"{name.upper()} needs https"):
        AuditAccess(audit_url="http://audit:8081", **given)
    assert AuditAccess(audit_url="https://audit:8081", **given)


METADATA = "169.254.169.254"  # where a cloud hands out the credentials of a machine
ELSEWHERE_SPELLED = [
    f"http://{METADATA}",
    "http://2852039166",
    "http://0xa9fea9fe",
    "http://0xa9.0xfe.0xa9.0xfe",
    "http://0251.0376.0251.0376",
    "http://169.254.43518",
    f"http://[::ffff:{METADATA}]",
    "http://[::ffff:a9fe:a9fe]",
    "http://[fe80::a9fe:a9fe%25eth0]",
    "http://localhost",
    "http://0",
    "http://127.1",
    "http://audit.example.evil.test",
    "http://audit.example@evil.test",
    "http://audit.example:80@evil.test",
    "http://evil.test#@audit.example",
    "http://evil.test?@audit.example",
    "http://evil.test\\@audit.example",
    "http://audit.example.",
    "http://\N{FULLWIDTH LATIN SMALL LETTER A}udit.example",
    "http:///audit.example",
    "//audit.example",
    "file://audit.example/etc/passwd",
]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"connect_username": "ops"}, "belong together"),
        ({"connect_ca_file": Path("ca.pem")}, "CONNECT_CA_FILE needs https"),
        (
            {"connect_username": "ops", "connect_password_file": Path("password")},
            "CONNECT_USERNAME needs https",
        ),
    ],
)
def test_no_password_of_connect_is_sent_in_clear(settings: dict[str, Any], sentence: str) -> None:
    """Half of a login is refused, and the whole of it over HTTP."""
    with pytest.raises(ValidationError, match=sentence):
        ConnectAccess(connect_url="http://connect:8083", **settings)


def test_connect_is_called_with_our_password_and_our_ca(
    password: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the environment says of other CAs and other passwords changes neither."""
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/another/ca.pem")
    ca = tmp_path / "ca.pem"
    access = ConnectAccess(
        connect_url="https://connect:8083",
        connect_ca_file=ca,
        connect_username="ops",
        connect_password_file=password,
    )
    with connect_session(access) as session:
        merged = session.merge_environment_settings(access.connect_url, {}, None, None, None)
        assert (session.auth, merged["verify"]) == (("ops", SECRET), str(ca))
    with connect_session(ConnectAccess()) as session:
        assert session.auth is None


@pytest.mark.parametrize("url", ELSEWHERE_SPELLED)
def test_the_audit_client_goes_to_no_host_that_is_not_named(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However an address is spelled: what counts is the host that the HTTP client would ask."""
    monkeypatch.setenv("AUDIT_ALLOWED_HOSTS", "audit.example,audit.other")
    with pytest.raises(ValidationError, match="AUDIT_URL"):
        AuditAccess(audit_url=url)


@pytest.mark.parametrize(
    "url",
    [
        "http://audit.example",
        "https://AUDIT.example:8443/path",
        "http://audit%2eexample",
        "http://audit.other",
    ],
)
def test_control_the_audit_client_goes_where_it_may(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host that is named, at any port and spelled in any way; without the list, any host."""
    assert AuditAccess(audit_url=f"http://{METADATA}")
    monkeypatch.setenv("AUDIT_ALLOWED_HOSTS", "audit.example, audit.other")
    assert AuditAccess(audit_url=url).audit_url == url


def config_file(folder: Path, text: str) -> Path:
    """Return a file with this text."""
    file = folder / "client.properties"
    file.write_text(text)
    return file


def test_whatever_else_a_client_may_be_told_is_read_from_a_file(tmp_path: Path) -> None:
    """Comments and empty lines are passed over, and spaces around the parts of a line."""
    text = "# slow network\n\nsocket.timeout.ms = 90000\n"
    access = KafkaAccess(kafka_config_file=config_file(tmp_path, text))
    assert kafka_connection(BROKER, access) == PLAIN | {"socket.timeout.ms": "90000"}


@pytest.mark.parametrize("name", PROMISES)
def test_what_would_break_a_promise_is_refused_with_the_reason(tmp_path: Path, name: str) -> None:
    """Any other value is refused, and the sentence says what would happen."""
    file = config_file(tmp_path, f"socket.timeout.ms=1\n{name}=whatever\n")
    with pytest.raises(ConfigFileError) as refused:
        read_config(file)
    assert str(refused.value) == (
        f"{file}, line 2: {name}=whatever is refused: {PROMISES[name].otherwise}"
    )
    for value in PROMISES[name].values:
        assert read_config(config_file(tmp_path, f"{name}={value}")) == {name: value}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        *(
            (f"{name}=x", f"line 1: {name} is set by {setting}")
            for name, setting in ELSEWHERE.items()
        ),
        ("retries", "line 1: should be name=value"),
        ("a=1\na=2", "line 2: a is there twice"),
    ],
)
def test_what_would_be_ignored_is_refused(tmp_path: Path, text: str, sentence: str) -> None:
    """A setting has one place; a line that would do nothing is an error, with its number."""
    with pytest.raises(ConfigFileError, match=sentence):
        read_config(config_file(tmp_path, text))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """The setting and the file are in the sentence."""
    file = tmp_path / "missing"
    with pytest.raises(ConfigFileError, match=f"KAFKA_CONFIG_FILE={file}: No such file"):
        read_config(file)


def test_everything_that_the_programs_set_is_refused_in_the_file() -> None:
    """A line of the file that the service would overwrite is an error, and never does nothing."""
    own = ServiceSettings(group_instance_id="one").kafka()
    assert own.keys() <= PROMISES.keys() | ELSEWHERE.keys()


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://app@127.0.0.1:5432/fulfillment",
        "postgresql://app@localhost/fulfillment",
        "postgresql://app@[::1]/fulfillment",
        "postgresql:///fulfillment?host=/run/postgresql",
        "postgresql://app@db.example/fulfillment?sslmode=disable",
        "postgresql://app@db.example/fulfillment?sslmode=verify-full&sslrootcert=/tls/ca.pem",
        "host=127.0.0.1 dbname=fulfillment",
    ],
)
def test_a_url_that_says_whom_it_trusts_is_taken(url: str) -> None:
    """So is one that does not leave this machine; nothing of it is changed."""
    assert refuse_without_sslmode(url) == url


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://app@db.example/fulfillment",
        "postgresql://app@10.0.0.5:5432/fulfillment?connect_timeout=3",
        "postgresql://app@127.0.0.1,db.example/fulfillment",
        "postgresql://app@localhost.example/fulfillment",
    ],
)
def test_a_url_that_would_trust_anybody_is_refused_with_the_way_out(
    monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    """Every room says so before it connects, and names the setting."""
    monkeypatch.setenv("DATABASE_URL", url)
    for settings in (ServiceSettings, MigrationSettings, ConnectSettings, SparkSettings):
        with pytest.raises(ValidationError, match=r"add \?sslmode=verify-full") as refused:
            settings()
        assert refused.value.errors()[0]["loc"] == ("database_url",)


def test_encryption_is_handed_on_to_the_other_clients() -> None:
    """Debezium is told what the URL says; without it, it would connect to anybody."""
    told = {"sslmode": "verify-full", "sslrootcert": "/tls/ca.pem"}
    words = "&".join(f"{name}={value}" for name, value in told.items())
    settings = ConnectSettings(
        database_url=f"postgresql://app@db.example/{DATABASE}?{words}",
        audit_database_url=f"postgresql://audit@127.0.0.1/{AUDIT_DATABASE}",
    )
    found = {}
    for file in connector_files():
        config = read_connector(settings, file)
        found[config["database.dbname"]] = {
            name: config.get(f"database.{name}") for name in ("sslmode", "sslrootcert")
        }
    assert found[DATABASE] == told
    assert found[AUDIT_DATABASE] == {"sslmode": None, "sslrootcert": None}
