"""A project of its own on ports of its own, or a sentence why there can be none."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator

import pytest

from ops.settings import ROOT
from tests.compose.project import Project

PORTS = int(os.environ.get("COMPOSE_TEST_PORTS", "17500"))  # the first of a hundred
NAME = f"outbox-pipeline-test-{PORTS}"


def images() -> set[str]:
    """Every image of others that the project is built on."""
    files = [ROOT / "compose.yaml", *ROOT.glob("*/Dockerfile")]
    return {
        name
        for file in files
        for name in re.findall(r"(?:image: |FROM )(\S+:\S+)", file.read_text())
    }


def works(*command: str) -> bool:
    """Whether a command ends well."""
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def why_not() -> str:
    """What is missing to run containers here; nothing when all is there."""
    if not shutil.which("docker"):
        return "there is no docker command: install Docker Engine 25 and compose 2.24, or newer"
    if not works("docker", "info"):
        return "no Docker engine answers (docker info): start it"
    if not works("docker", "compose", "version"):
        return "docker has no compose: install the plugin, 2.24 or newer"
    missing = [image for image in sorted(images()) if not is_here(image)]
    return f"neither here nor to be pulled: {', '.join(missing)}" if missing else ""


def is_here(image: str) -> bool:
    """Whether an image is here, or can be brought here."""
    return works("docker", "image", "inspect", image) or works("docker", "pull", image)


@pytest.fixture(scope="session", autouse=True)
def _project() -> Iterator[None]:
    """The environment of a project that shares neither name nor ports with the user's own."""
    if reason := why_not():
        pytest.skip(reason)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COMPOSE_PROJECT_NAME", NAME)
        for at, name in enumerate(("POSTGRES_PORT", "KAFKA_PORT", "CONNECT_PORT", "AUDIT_PORT")):
            patch.setenv(name, str(PORTS + at))
        patch.setenv("SERVICE_PORTS", f"{PORTS + 10}-{PORTS + 19}")
        patch.setenv(
            "RECONCILE_DEADLINE_SECONDS", "240"
        )  # two sessions of Spark share what a small machine has
        patch.setenv(
            "KAFKA_BOOTSTRAP_SERVERS", f"127.0.0.1:{PORTS + 1}"
        )  # for the tests' own clients
        yield


@pytest.fixture(scope="module")
def project() -> Iterator[Project]:
    """Everything up, for the tests of one file; gone after them."""
    with Project().running() as project:
        yield project
