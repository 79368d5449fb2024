"""A project of its own on ports of its own, or a sentence why there can be none."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator

import pytest
import yaml

from tests.compose.project import ROOT, Project

PORTS = int(os.environ.get("COMPOSE_TEST_PORTS", "17500"))  # the first of a hundred
PUBLISHED = (
    "POSTGRES_PORT",
    "KAFKA_PORT",
    "CONNECT_PORT",
    "AUDIT_PORT",
    "GUARD_PORT",
    "KAFKA_PORT_2",
    "KAFKA_PORT_3",
    "CONNECT_PORT_2",
    "PAGE_PORT",
)
NAME = f"outbox-pipeline-test-{PORTS}"


def images() -> set[str]:
    """Return every image of others that the project is built on; the dashboards are extra."""
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text())
    services = compose["services"].values()
    started = [one for one in services if "observe" not in one.get("profiles", [])]
    named = {one["image"] for one in started if "image" in one}
    dockerfiles = "".join(file.read_text() for file in ROOT.glob("*/Dockerfile"))
    bases = set(re.findall(r"FROM (\S+:\S+)", dockerfiles))
    return named | bases


def works(*command: str) -> bool:
    """Say whether a command ends well."""
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def why_not() -> str:
    """Return what is missing to run containers here, or nothing."""
    if not shutil.which("docker"):
        return "there is no docker command: install Docker Engine 25 and compose 2.24, or newer"
    if not works("docker", "info"):
        return "no Docker engine answers (docker info): start it"
    if not works("docker", "compose", "version"):
        return "docker has no compose: install the plugin, 2.24 or newer"
    missing = [image for image in sorted(images()) if not is_here(image)]
    return f"neither here nor to be pulled: {', '.join(missing)}" if missing else ""


def is_here(image: str) -> bool:
    """Say whether an image is here, or can be brought here."""
    return works("docker", "image", "inspect", image) or works("docker", "pull", image)


@pytest.fixture(scope="session", autouse=True)
def _project() -> Iterator[None]:
    """Set the environment of a project with a name and ports that the user's own does not have."""
    if reason := why_not():
        pytest.skip(reason)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COMPOSE_PROJECT_NAME", NAME)
        for at, name in enumerate(PUBLISHED):
            patch.setenv(name, str(PORTS + at))
        patch.setenv("SERVICE_PORTS", f"{PORTS + 10}-{PORTS + 19}")
        # Two sessions of Spark share what a small machine has.
        patch.setenv("RECONCILE_DEADLINE_SECONDS", "240")
        # For the tests' own clients.
        patch.setenv("KAFKA_BOOTSTRAP_SERVERS", f"127.0.0.1:{PORTS + 1}")
        yield


@pytest.fixture(scope="module")
def project() -> Iterator[Project]:
    """Have everything up for the tests of one file."""
    with Project().running() as project:
        yield project
