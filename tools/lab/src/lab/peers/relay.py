"""What publishes the outbox of an arm, and can be killed: a program, or a worker of Connect."""

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

import requests
from psycopg.conninfo import conninfo_to_dict

from connect.register import last_cause
from lab.environment import free_ports
from ops.jars import Command, jars_folder
from ops.settings import HOST
from ops.stack.kafka import POM, java, override
from ops.stack.part import answers
from ops.stack.stack import Stack
from ops.stack.supervisor import StackError, until
from ops.stack.worker import MAIN

Env = Mapping[str, str]

SECONDS = 90  # the slowest start takes 10 s on two cores
NAME = "peer-relay"


class Relay(NamedTuple):
    """A process by its name, how it starts from nothing, and how again after it was killed."""

    name: str
    start: Callable[[], None]
    again: Callable[[], None]


def program(stack: Stack, env: Env, command: Command) -> Relay:
    """Return a relay that is a program."""
    spawn = partial(stack.supervisor.spawn, NAME, command, env)
    return Relay(NAME, spawn, spawn)


def worker(stack: Stack, env: Env, folder: Path, number: int) -> Relay:
    """Return a worker of Connect of its own, with the settings and the connector of this folder."""
    [port] = free_ports(1)
    url = f"http://{HOST}:{port}"
    file = stack.settings.run_dir / f"{NAME}.properties"
    command = java(stack.settings, stack.settings.connect_java_options, MAIN, str(file))
    spawn = partial(stack.supervisor.spawn, NAME, command, env)

    def start() -> None:
        group = f"{folder.name}-{number}"
        override(folder / "worker.properties", machine_lines(stack, url, group), file)
        spawn()
        until(lambda: not answers(f"{url}/health"), SECONDS)
        register(stack, url, connector(stack, env, folder))

    return Relay(NAME, start, spawn)


def machine_lines(stack: Stack, url: str, group: str) -> dict[str, str]:
    """Return what the settings leave to the machine, and names that no earlier worker had.

    With the topics of another one, a connector would go on where the other's database ended.
    """
    return {
        "bootstrap.servers": stack.settings.bootstrap_servers,
        "listeners": url,
        "plugin.path": str(jars_folder(stack.settings.jars, POM) / "plugins"),
        "group.id": group,
        "config.storage.topic": f"{group}-configs",
        "offset.storage.topic": f"{group}-offsets",
        "status.storage.topic": f"{group}-status",
    }


def connector(stack: Stack, env: Env, folder: Path) -> dict[str, str]:
    """Return the connector with the database of this machine."""
    shown: dict[str, str] = json.loads((folder / "connector.json").read_text())
    database = conninfo_to_dict(env["DATABASE_URL"])
    password = (stack.settings.secrets_dir / "postgres_password").read_text().strip()
    return shown | {
        "database.hostname": str(database["host"]),
        "database.port": str(database["port"]),
        "database.user": str(database["user"]),
        "database.password": password,
        "database.dbname": str(database["dbname"]),
    }


def register(stack: Stack, url: str, config: Mapping[str, str]) -> None:
    """Send the connector, and wait until it and its task run."""
    missing = "nothing"

    def is_running() -> bool:
        nonlocal missing
        missing = send_or_ask(url, config)
        return not missing

    if not until(is_running, SECONDS):
        raise StackError(f"the connector does not run: {missing}{stack.supervisor.tail(NAME)}")


def send_or_ask(url: str, config: Mapping[str, str]) -> str:
    """Return nothing when connector and task run; a FAILED one ends the wait."""
    status = requests.get(f"{url}/connectors/outbox/status", timeout=10)
    if status.status_code == requests.codes.not_found:
        sent = requests.put(f"{url}/connectors/outbox/config", json=dict(config), timeout=30)
        if sent.status_code == requests.codes.bad_request:
            raise StackError(f"Connect refuses the connector: {sent.json()['message']}")
        return f"Connect answers {sent.status_code}"
    found = status.json()
    parts = [found.get("connector", {}), *found.get("tasks", [])]
    for part in parts:
        if part.get("state") == "FAILED":
            raise StackError(f"the connector has failed: {last_cause(part.get('trace', ''))}")
    states = [part.get("state") for part in parts]
    return "" if states == ["RUNNING", "RUNNING"] else f"connector and task are {states}"
