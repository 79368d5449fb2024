"""Secrets that change while orders come: nothing is lost, and the old ones are worth nothing."""

import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
import requests
from psycopg import sql

from access.kafka import KafkaAccess
from access.kafka_login import find_reason
from ops.security import CALLER, Security
from ops.stack.certificates import make_certificate
from ops.stack.files import write_secret
from ops.stack.stack import Stack
from tests.client import exactly_one, until, until_handled
from tests.load import load, orders

SOON = 30


def new_secret() -> str:
    """Return a secret that nobody has had."""
    return secrets.token_urlsafe(24)


def run_as_postgres(stack: Stack, statement: str | sql.Composed) -> None:
    """Execute a statement as the administrator."""
    env = stack.env()
    password = Path(env["ADMIN_DATABASE_PASSWORD_FILE"]).read_text()
    with psycopg.connect(env["ADMIN_DATABASE_URL"], password=password, autocommit=True) as session:
        session.execute(statement.encode() if isinstance(statement, str) else statement)


def hang_up(stack: Stack, role: str) -> None:
    """End every connection of a role, as a restart of the server would."""
    run_as_postgres(
        stack, f"select pg_terminate_backend(pid) from pg_stat_activity where usename = '{role}'"
    )


@contextmanager
def changed_password(stack: Stack, file: Path) -> Iterator[str]:
    """Change the password of the service's role and end its connections; yield the old one.

    At the end of the block the new one is in its file.
    """
    old, new = file.read_text(), new_secret()
    alter = sql.SQL("alter role app password {}").format(sql.Literal(new))
    run_as_postgres(stack, alter)
    hang_up(stack, "app")
    try:
        yield old
    finally:
        write_secret(file, new)


def test_the_password_of_the_database_changes_under_load(stack: Stack, security: Security) -> None:
    """The role first, then the file; until then it is an outage, and afterwards it goes on."""
    file = security.secrets / "app_password"
    with load() as ids, changed_password(stack, file) as old:
        until(
            lambda: stack.log("service").read_text(),
            lambda log: "password authentication failed" in log,
            SOON,
            "the service does not say why it waits",
        )
    after = orders(50)
    until_handled()
    exactly_one([*ids, *after])
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(stack.env()["DATABASE_URL"], password=old)


def test_the_password_of_the_broker_changes_under_load(
    stack: Stack, security: Security, tmp_path: Path
) -> None:
    """The broker's first, then the connections end: the service reads its file again by itself."""
    file = security.kafka_password("service")
    old = tmp_path / "old"
    old.write_text(file.read_text())
    with load() as ids:
        write_secret(file, new_secret())
        stack.run("users", [sys.executable, "-m", "connect", "users"], stack.part("kafka").then_env)
        stack.restart("kafka")
        after = orders(50)
    until_handled()
    exactly_one([*ids, *after])
    access = KafkaAccess(kafka_sasl_username="service", kafka_sasl_password_file=old)
    assert "does not let service in" in find_reason(stack.env()["KAFKA_BOOTSTRAP_SERVERS"], access)


def test_the_token_of_the_audit_receiver_changes_under_load(
    stack: Stack, security: Security
) -> None:
    """Both are good for a while; nobody is started again; in the end the old one is refused."""
    old, new = security.audit_token.read_text(), new_secret()
    with load() as ids:
        write_secret(security.audit_tokens, f"{CALLER} {old}\n{CALLER} {new}\n")
        write_secret(security.audit_token, new)
        between = orders(50)
        write_secret(security.audit_tokens, f"{CALLER} {new}\n")
        after = orders(50)
    until_handled()
    exactly_one([*ids, *between, *after])
    answer = requests.post(
        f"{stack.env()['AUDIT_URL']}/audit-entries",
        headers={"Authorization": f"Bearer {old}"},
        verify=str(security.ca),
        timeout=10,
    )
    assert answer.status_code == 401


@pytest.mark.parametrize("name", ["audit", "postgres"])
def test_a_certificate_changes_under_load(stack: Stack, security: Security, name: str) -> None:
    """A new one of the same CA, and the part starts again: its clients go on by themselves."""
    old = (security.tls / f"{name}.crt").read_text()
    with load() as ids:
        make_certificate(security.tls, name)
        stack.restart(name)
        after = orders(50)
    until_handled()
    exactly_one([*ids, *after])
    assert (security.tls / f"{name}.crt").read_text() != old


def test_control_a_secret_that_nobody_writes_down_stops_it(
    stack: Stack, security: Security
) -> None:
    """The database's password changes and the file does not: orders wait, until it does."""
    with changed_password(stack, security.secrets / "app_password"):
        ids = orders(20)
        with pytest.raises(AssertionError, match="has not committed"):
            until_handled(seconds=5)
    until_handled()
    exactly_one(ids)
