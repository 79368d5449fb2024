"""The project's own compose.yaml, driven as a user drives it."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from testcontainers.compose import DockerCompose

ROOT = Path(__file__).parents[2]
LOG = ROOT / ".run" / "log" / "compose.log"


class Project:
    """`docker compose` with these files, and its answers."""

    def __init__(self, *more_files: str) -> None:
        self.compose = DockerCompose(ROOT, ["compose.yaml", *more_files])

    @contextmanager
    def running(self) -> Iterator["Project"]:
        """Have it up for a block; only its logs are kept."""
        self.build()
        try:
            self.compose.start()
            yield self
        finally:
            self.end()

    def build(self) -> None:
        """Build every image, so that what a command prints later is its own."""
        self.good("--profile", "tools", "build")

    def end(self) -> None:
        """Write the logs where all logs are, then take everything away."""
        LOG.parent.mkdir(parents=True, exist_ok=True)
        LOG.write_text(self.run("logs", "--no-color").stdout)
        self.compose.stop()

    def command(self, *arguments: str) -> list[str]:
        """Return what is typed."""
        return [*self.compose.docker_compose_command(), *arguments]

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Type it and wait; a code other than 0 is an answer, too."""
        return subprocess.run(
            self.command(*arguments),
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )

    def good(self, *arguments: str) -> str:
        """Type it and return what it prints; it must go well."""
        done = self.run(*arguments)
        assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
        return done.stdout

    def containers(self) -> dict[str, dict[str, Any]]:
        """Return what `docker inspect` says of each container, by its name in the project."""
        ids = self.good("ps", "--all", "--quiet").split()
        containers = {}
        for container in json.loads(ask("docker", "inspect", *ids)):
            labels = container["Config"]["Labels"]
            service = labels["com.docker.compose.service"]
            number = labels["com.docker.compose.container-number"]
            containers[f"{service}-{number}"] = container
        return containers

    def left(self) -> dict[str, list[str]]:
        """Return everything of this project that Docker still has, images apart."""
        name = os.environ["COMPOSE_PROJECT_NAME"]
        mine = ("--filter", f"label=com.docker.compose.project={name}", "--quiet")
        kinds = {
            "containers": ["ps", "--all"],
            "volumes": ["volume", "ls"],
            "networks": ["network", "ls"],
        }
        return {kind: ask("docker", *words, *mine).split() for kind, words in kinds.items()}


def ask(*command: str) -> str:
    """Return what a command prints; it must go well."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
