"""The files of SECURE=true: a private CA, certificates with names and dates, and more passwords."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from connect.acls import all_acls
from ops.jars import java_program
from ops.security import ADMIN, BROKER, CALLER, OPS, Security
from ops.stack.certificates import CLIENT, SERVER, make_ca, make_certificate, openssl
from ops.stack.files import make_password, write_secret
from ops.stack.supervisor import StackError

SCRAM = "--add-scram=SCRAM-SHA-512=[name={name},password={password}]"
LOGIN_MODULE = "org.apache.kafka.connect.rest.basic.auth.extension.PropertyFileLoginModule"


def make_files(security: Security) -> None:
    """Make what is missing; what is there stays, so that clients go on trusting it."""
    make_ca(security.tls)
    make_passwords(security)
    make_certificates(security)
    make_keystores(security)


def make_passwords(security: Security) -> None:
    """Make a password for each principal of the broker, and for those who call over HTTP."""
    for principal in (ADMIN, BROKER, *all_acls()):
        make_password(security.kafka_password(principal))
    make_password(security.keystore_password)
    token = make_password(security.audit_token)
    write_secret(security.audit_tokens, f"{CALLER} {token}\n")
    password = make_password(security.connect_password)
    # An empty file would let everybody in.
    write_secret(users_file(security), f"{OPS}={password}\n")
    login = f'KafkaConnect {{ {LOGIN_MODULE} required file="{users_file(security)}"; }};\n'
    write_secret(login_file(security), login)


def users_file(security: Security) -> Path:
    """Return who may call Connect's REST API."""
    return security.secrets / "connect_users.properties"


def login_file(security: Security) -> Path:
    """Return what tells the worker how it asks for a password."""
    return security.secrets / "connect_login.conf"


def make_certificates(security: Security) -> None:
    """Make a certificate for each server; the broker is a client of its own controller, too."""
    usages = {
        "broker": f"{SERVER},{CLIENT}",
        "connect": SERVER,
        "postgres": SERVER,
        "audit": SERVER,
    }
    for name, usage in usages.items():
        if not (security.tls / f"{name}.crt").exists():
            make_certificate(security.tls, name, usage=usage)
    key = (security.tls / "broker.key").read_text()
    certificate = (security.tls / "broker.crt").read_text()
    write_secret(security.tls / "broker.pem", key + certificate)


def make_keystores(security: Security) -> None:
    """Make what Connect's REST API reads instead of PEM."""
    tls = security.tls
    password = security.keystore_password
    if not (tls / "connect.p12").exists():
        openssl(
            *("pkcs12", "-export", "-name", "connect", "-in", str(tls / "connect.crt")),
            *("-inkey", str(tls / "connect.key"), "-certfile", str(security.ca)),
            *("-passout", f"file:{password}", "-out", str(tls / "connect.p12")),
        )
    if not (tls / "ca.p12").exists():
        keytool(
            *("-importcert", "-noprompt", "-alias", "ca", "-file", str(security.ca)),
            *("-keystore", str(tls / "ca.p12"), "-storetype", "PKCS12"),
            *("-storepass:file", str(password)),
        )


def keytool(*words: str) -> None:
    """Run Java's own tool: what openssl makes of a CA, Java does not trust."""
    command = [java_program("keytool"), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise StackError(f"keytool: {done.stdout.strip()}")


@contextmanager
def first_users(security: Security) -> Iterator[Path]:
    """Yield a file of who can log in on a new broker, for the tool that makes its storage.

    It reads its words from there, so that no password is in a list of processes.
    """
    lines = []
    for name in (ADMIN, BROKER):
        password = security.kafka_password(name).read_text()
        lines.append(SCRAM.format(name=name, password=password) + "\n")
    file = security.secrets / "first_users"
    write_secret(file, "".join(lines))
    yield file
    file.unlink()
