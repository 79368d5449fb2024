"""Make copies of this repository as it is, and run in a copy what its owner runs."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import psycopg

ROOT = Path(__file__).parents[2]
BY_HAND = Path(__file__).parent / "payments"
BIN = Path(sys.executable).parent
EXTRAS = ["aggregator", "entity", "version", "watermark", "dynamodb", "filter"]
HANGS_SECONDS = 900  # what has not ended by then hangs, also on a machine that does much else

PAYMENTS: dict[str, Any] = {
    "project": "payments",
    "subject": "payment",
    "effect": "booking",
    "accepted": "booked",
    "keep": [],
}

PORTS = int(os.environ.get("TEST_PORTS", "15500")) + 150  # beside the ports of the two stacks
STACK = {
    "POSTGRES_PORT": str(PORTS),
    "KAFKA_PORT": str(PORTS + 1),
    "KAFKA_CONTROLLER_PORT": str(PORTS + 2),
    "CONNECT_PORT": str(PORTS + 3),
    "AUDIT_PORT": str(PORTS + 4),
    "SERVICE_PORT": str(PORTS + 5),
    "JARS_DIR": str(ROOT / ".run" / "jars"),
    "TEST_PORTS": str(PORTS + 50),
}


class Done(NamedTuple):
    """How a command ended."""

    code: int
    output: str


class Copy(NamedTuple):
    """A copy of the template."""

    path: Path
    cache: Path  # of mypy: what it knows of the packages is the same in all copies

    def environment(self) -> dict[str, str]:
        """Return the environment in which this copy's files win over the installed template's."""
        paths = {"PATH": f"{BIN}:{os.environ['PATH']}", "PYTHONPATH": str(self.path)}
        return {**os.environ, **paths, "MYPY_CACHE_DIR": str(self.cache)}

    def run(self, *command: str, timeout: float = HANGS_SECONDS, **environment: str) -> Done:
        """Run a command in the copy."""
        return run(command, self.path, self.environment() | environment, timeout)

    def make(self, *targets: str, timeout: float = HANGS_SECONDS, **environment: str) -> Done:
        """Run targets of the copy's own Makefile, with the template's installed packages."""
        command = ["make", "--no-print-directory", f"BIN={BIN}", "STAMP=LICENSE", *targets]
        return self.run(*command, timeout=timeout, **environment)

    def pipeline(self, *command: str, **environment: str) -> Done:
        """Run a command of the copy's own pipeline, on ports of the tests' own."""
        return self.run("python", "-m", "ops", *command, timeout=600, **STACK, **environment)

    def reconcile(self, **environment: str) -> tuple[int, dict[str, Any]]:
        """Land and reconcile in the copy, and return the exit code and what was found."""
        judged = self.pipeline("reconcile", "--land", "--json", **environment)
        assert judged.code in (0, 1), judged.output
        printed = judged.output[judged.output.index("{") :]
        found: dict[str, Any] = json.JSONDecoder().raw_decode(printed)[0]
        return judged.code, found

    def connect(self) -> psycopg.Connection:
        """Connect to the database of the copy's stack, as the administrator."""
        password = (self.path / ".run" / "secrets" / "postgres_password").read_text().strip()
        return psycopg.connect(
            host="127.0.0.1",
            port=PORTS,
            user="postgres",
            dbname=PAYMENTS["effect"],
            password=password,
            autocommit=True,
        )

    def commit(self, message: str = "Change something") -> None:
        """Commit what is there."""
        self.git("add", "-A")
        self.git("commit", "-qm", message)

    def git(self, *command: str) -> str:
        """Return what git prints in the copy."""
        return git(self.path, *command)


def run(
    command: Sequence[str], cwd: Path, env: dict[str, str], timeout: float = HANGS_SECONDS
) -> Done:
    """Run a command to its end."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env=env,
        timeout=timeout,
        check=False,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    return Done(done.returncode, done.stdout)


def git(folder: Path, *command: str) -> str:
    """Return what git prints, as somebody who may commit."""
    me = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.com"]
    return subprocess.check_output(["git", *me, *command], cwd=folder, text=True)


def make_template(folder: Path, *, without: tuple[str, ...] = ()) -> Path:
    """Return a repository with this one's files as they are, tagged as version 1.

    It comes without some folders, if a test does not need them.
    """
    listed = git(ROOT, "ls-files", "--cached", "--others", "--exclude-standard").splitlines()
    for name in listed:
        if (ROOT / name).is_file() and not name.startswith(without):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    git(folder, "init", "-q")
    release(folder, "v1.0.0")
    return folder


def release(template: Path, version: str) -> None:
    """Commit what the template has become, and tag it."""
    git(template, "add", "-A")
    git(template, "commit", "-qm", version)
    git(template, "tag", version)


def copier(*arguments: str, trust: bool = True) -> Done:
    """Run Copier as a user does, but without questions."""
    options = ["--defaults", *(["--trust"] if trust else [])]
    me = {"GIT_AUTHOR_NAME": "somebody", "GIT_COMMITTER_NAME": "somebody"}
    mail = {"GIT_AUTHOR_EMAIL": "s@example.com", "GIT_COMMITTER_EMAIL": "s@example.com"}
    command = [sys.executable, "-m", "copier", arguments[0], *options, *arguments[1:]]
    return run(command, ROOT, {**os.environ, **me, **mail})


def data(answers: dict[str, Any]) -> list[str]:
    """Return Copier's options for these answers."""
    given = [
        f"{key}={value if isinstance(value, str) else json.dumps(value)}"
        for key, value in answers.items()
    ]
    return [part for answer in given for part in ("-d", answer)]


def make_copy(template: Path, folder: Path, cache: Path, **answers: Any) -> Copy:
    """Return a committed copy of the template."""
    done = copier("copy", *data(PAYMENTS | answers), str(template), str(folder))
    assert done.code == 0, done.output
    copy = Copy(folder, cache)
    copy.git("init", "-q")
    copy.commit("Copy the template")
    return copy


def make_payments(template: Path, folder: Path, cache: Path) -> Copy:
    """Return a copy for payments, with what a person writes by hand laid over it."""
    copy = make_copy(template, folder, cache)
    shutil.copytree(BY_HAND, copy.path, dirs_exist_ok=True)
    return copy
