"""The project's own compose.yaml, driven as a user drives it."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from testcontainers.compose import DockerCompose

from ops.settings import ROOT

LOG = ROOT / ".run" / "log" / "compose.log"


class Project:
    """`docker compose` with these files, and what it answers."""

    def __init__(self, *more_files: str) -> None:
        self.compose = DockerCompose(ROOT, ["compose.yaml", *more_files])

    @contextmanager
    def running(self) -> Iterator["Project"]:
        """Up for the time of a block; its logs are kept, and nothing else."""
        self.build()
        try:
            self.compose.start()
            yield self
        finally:
            self.end()

    def build(self) -> None:
        """Every image, those behind a profile too: what a command prints is then its own."""
        self.good("--profile", "tools", "build")

    def end(self) -> None:
        """Write the logs where they are looked for, then take everything away."""
        LOG.parent.mkdir(parents=True, exist_ok=True)
        LOG.write_text(self.run("logs", "--no-color").stdout)
        self.compose.stop()

    def command(self, *arguments: str) -> list[str]:
        """What is typed."""
        return [*self.compose.docker_compose_command(), *arguments]

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Type it and wait; a code other than 0 is an answer, too."""
        return subprocess.run(
            self.command(*arguments),
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    def good(self, *arguments: str) -> str:
        """Type it and return what it prints; it must go well."""
        done = self.run(*arguments)
        assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
        return done.stdout

    def containers(self) -> dict[str, dict[str, Any]]:
        """What `docker inspect` says of each container, by its name without the project's."""
        ids = self.good("ps", "--all", "--quiet").split()
        found = json.loads(
            subprocess.run(["docker", "inspect", *ids], capture_output=True, check=True).stdout
        )
        labels = "com.docker.compose.service", "com.docker.compose.container-number"
        return {"-".join(one["Config"]["Labels"][label] for label in labels): one for one in found}

    def left(self) -> dict[str, list[str]]:
        """Everything of this project that Docker still has, images apart."""
        mine = (
            "--filter",
            f"label=com.docker.compose.project={os.environ['COMPOSE_PROJECT_NAME']}",
            "--quiet",
        )
        kinds = {
            "containers": ["ps", "--all"],
            "volumes": ["volume", "ls"],
            "networks": ["network", "ls"],
        }
        return {kind: ask("docker", *words, *mine).split() for kind, words in kinds.items()}


def ask(*command: str) -> str:
    """What a command prints; it must go well."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
