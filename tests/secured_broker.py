"""A broker of a test's own that encrypts, asks for a password, and allows nothing by default."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # exported without a type
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from access.kafka import NO_FILE, KafkaAccess, kafka_connection
from connect.acls import all_acls, make_acls
from connect.settings import Settings as ConnectSettings
from connect.settings import kafka_password_file
from connect.topics import make_topics
from ops.security import ADMIN, BROKER
from ops.settings import Settings
from ops.stack.broker import format_command
from ops.stack.certificates import CLIENT, SERVER, make_certificate
from ops.stack.kafka import CONNECT, java, override, read_properties
from tests.client import until
from tests.own_service import free_port

SOON = 10  # seconds, in which a client must say why it does not get in


class SecuredBroker(NamedTuple):
    """Where it is, and who may log in: the password of each user is in a file."""

    bootstrap_servers: str
    folder: Path

    def password_file(self, user: str) -> Path:
        """Return where the password of a user is."""
        return kafka_password_file(self.folder, user)

    def access(self, user: str = ADMIN, **changes: Any) -> KafkaAccess:
        """Return how a client of this user connects."""
        settings: dict[str, Any] = {
            "kafka_security_protocol": "SASL_SSL",
            "kafka_sasl_username": user,
            "kafka_sasl_password_file": self.password_file(user),
            "kafka_ssl_ca_file": self.folder / "ca.pem",
        }
        return KafkaAccess(**settings | changes)


@contextmanager
def secured_broker(folder: Path, jars: Path) -> Iterator[SecuredBroker]:
    """Run it until the block ends; its certificate is for localhost alone."""
    settings = Settings(
        run_dir=folder,
        jars_dir=jars,
        kafka_port=free_port(),
        kafka_controller_port=free_port(),
    )
    broker = SecuredBroker(f"localhost:{settings.kafka_port}", folder)
    prepare(settings, broker)
    log = folder / "broker.log"
    command = java(settings, settings.kafka_java_options, "kafka.Kafka", str(folder / "properties"))
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        until(lambda: lets_in(broker), bool, 60, f"the broker does not let us in, see {log}")
        yield broker
    finally:
        process.kill()
        process.wait(10)


def lets_in(broker: SecuredBroker) -> bool:
    """Return whether the administrator gets in."""
    client = AdminClient(
        {**kafka_connection(broker.bootstrap_servers, broker.access()), "log_level": 0}
    )
    try:
        client.list_topics(timeout=1)
    except KafkaException:
        return False
    return True


def prepare(settings: Settings, broker: SecuredBroker) -> None:
    """Make certificate, users, settings and storage."""
    folder = broker.folder
    usage = f"{SERVER},{CLIENT}"
    certificate, key = make_certificate(folder, BROKER, addresses=(), usage=usage)
    (folder / "broker.pem").write_text(key.read_text() + certificate.read_text())
    for user in (ADMIN, BROKER):
        broker.password_file(user).write_text(f"{user}-secret")
    address = broker.bootstrap_servers
    controller = f"localhost:{settings.kafka_controller_port}"
    machine = {
        "listeners": f"SASL_SSL://{address},CONTROLLER://{controller}",
        "advertised.listeners": f"SASL_SSL://{address}",
        "controller.quorum.voters": f"1@{controller}",
        "log.dirs": str(folder / "data"),
    }
    text = (CONNECT / "broker.secure.properties").read_text()
    here = text.replace("/run/secrets", str(folder)).replace("/run/tls", str(folder))
    layers = read_properties(here) | machine
    override(CONNECT / "broker.properties", layers, folder / "properties")
    command = format_command(settings, folder / "properties")
    for user in (ADMIN, BROKER):
        command += ["--add-scram", f"SCRAM-SHA-512=[name={user},password={user}-secret]"]
    subprocess.run(command, check=True, capture_output=True, timeout=60)


def make_user(broker: SecuredBroker, user: str) -> KafkaAccess:
    """Make a user with a password of its own, and return how its clients connect."""
    password = f"{user}-secret"
    broker.password_file(user).write_text(password)
    scram = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
    asked = UserScramCredentialUpsertion(user, scram, password.encode())
    admin = administrator(broker)
    for answer in admin.alter_user_scram_credentials([asked]).values():
        answer.result(SOON)
    return broker.access(user)


def administrator(broker: SecuredBroker) -> AdminClient:
    """Return a client that may do anything."""
    return AdminClient(kafka_connection(broker.bootstrap_servers, broker.access()))


def as_environment(broker: SecuredBroker, access: KafkaAccess) -> dict[str, str]:
    """Return the same as settings of a process."""
    settings = {name.upper(): str(value) for name, value in access if value != NO_FILE}
    return settings | {"KAFKA_BOOTSTRAP_SERVERS": broker.bootstrap_servers}


def let_everybody_in(broker: SecuredBroker) -> None:
    """Make every topic and every principal, and allow each of them what it needs."""
    with pytest.MonkeyPatch.context() as patch:
        for name, text in as_environment(broker, broker.access()).items():
            patch.setenv(name, text)
        settings = ConnectSettings(kafka_bootstrap_servers=broker.bootstrap_servers)
        make_topics(settings)
        first = make_acls(settings)
        assert len(first) == len(set(first)) > 20
        # The broker learns of them a moment after it has acknowledged them.
        until(
            lambda: make_acls(settings),
            lambda missing: not missing,
            SOON,
            "what is allowed is called missing",
        )
    for principal in all_acls():
        make_user(broker, principal)
