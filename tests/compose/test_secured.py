"""compose.secure.yaml: the same demo with the same verdict, and nobody comes in unasked."""

import re
from collections.abc import Iterator

import psycopg
import pytest
import requests

from access.kafka import KafkaAccess
from access.kafka_login import find_reason
from tests.compose.project import Project
from tests.reconciliation import GOOD


@pytest.fixture(scope="module")
def project() -> Iterator[Project]:
    """Have the secured pipeline up."""
    with Project("compose.secure.yaml").running() as project:
        yield project


def address(project: Project, service: str, port: int) -> str:
    """Return where a part is published."""
    return project.good("port", service, str(port)).strip()


def test_the_secured_demo_ends_with_its_verdict(project: Project) -> None:
    """Every part has logged in as itself, and nothing is lost and nothing doubled."""
    done = project.run("run", "--rm", "-T", "demo")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == GOOD


def test_nothing_that_is_published_answers_in_clear(project: Project) -> None:
    """Postgres, Kafka, Connect and the audit receiver refuse whoever does not encrypt."""
    host, _, port = address(project, "postgres", 5432).partition(":")
    with pytest.raises(psycopg.OperationalError, match="no encryption"):
        psycopg.connect(f"postgresql://app:x@{host}:{port}/fulfillment?sslmode=disable")
    kafka = find_reason(address(project, "kafka", 19092), KafkaAccess())
    assert "KAFKA_SECURITY_PROTOCOL=PLAINTEXT" in kafka
    for service, inside in (("connect", 8083), ("audit", 8081)):
        with pytest.raises(requests.ConnectionError):
            requests.get(f"http://{address(project, service, inside)}/", timeout=10)


def test_a_container_reads_the_secrets_of_its_own_part_alone(project: Project) -> None:
    """The service has its own passwords, and not those of the administrator or of another part."""
    listed = project.good("exec", "-T", "service", "ls", "/run/secrets").split()
    readable = project.run("exec", "-T", "service", "sh", "-c", "cd /run/secrets; grep -l . *")
    assert len(listed) > 20
    assert set(readable.stdout.split()) == {"app_password", "audit_token", "kafka_service_password"}


def test_no_secret_is_in_what_docker_shows(project: Project) -> None:
    """Neither in a log nor in what `docker inspect` says."""
    shown = project.run("logs", "--no-color").stdout + str(project.containers())
    secrets = project.good(
        *("run", "--rm", "-T", "--no-deps", "--entrypoint", "sh", "users"),
        *("-c", "cat /run/secrets/kafka_*_password | fold -w 32"),
    ).split()
    assert len(secrets) > 5
    assert all(re.fullmatch(r"[\w-]{32}", secret) for secret in secrets)
    assert not [secret for secret in secrets if secret in shown]
