"""A throwaway stack: own folder, own free ports, only the parts that are needed, no data left.

Whatever else runs on the machine is not touched. Only the logs stay, in the folder of the stack.
"""

import os
import platform
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from random import SystemRandom
from typing import Any

import psycopg
from confluent_kafka import libversion
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from sqlalchemy import make_url

from contract.names import INPUT_TOPIC
from lab.kafka_proxy import KafkaProxy
from ops.extra import Value, extra_processes
from ops.jars import Run
from ops.settings import HOST, Settings
from ops.stack import broker
from ops.stack.kafka import override
from ops.stack.stack import Stack, Step
from ops.stack.supervisor import StackError

PORT_SETTINGS = [name for name in Settings.model_fields if name.endswith("_port")]
EXTRA_PORT_SETTINGS = [process.port for process in extra_processes().values()]
PORTS = len(PORT_SETTINGS) + len(EXTRA_PORT_SETTINGS)
# Below those that systems give to clients: one of these might be a connection's own by the time it
# is needed. Not from a seed, which another process may have too.
PORTS_OF_SERVERS = range(20_000, 32_000)
DICE = SystemRandom()
TOPIC_SECONDS = 30
DURABLE = ("fsync", "full_page_writes", "synchronous_commit")
TABLES = {
    "DATABASE_URL": "tracking, fulfillment, rejection, dead_letter, outbox",
    "AUDIT_DATABASE_URL": "audit_entry, outbox",
}


@contextmanager
def throwaway_stack(
    settings: Settings,
    step: Step,
    name: str,
    parts: Sequence[str] = (),
    extras: Mapping[str, Value] | None = None,
    **changes: Any,
) -> Iterator[Stack]:
    """Run a fresh stack in a folder of this name, with these parts or all of them."""
    own = own_settings(settings, name, free_ports(PORTS), extras or {}, **changes)
    with run_empty(choose_parts(own, step, parts)) as stack:
        yield stack


@contextmanager
def proxied_stack(
    settings: Settings,
    step: Step,
    name: str,
    parts: Sequence[str],
) -> Iterator[tuple[Stack, KafkaProxy]]:
    """Run the same with a proxy before the broker."""
    *ports, proxied_port = free_ports(PORTS + 1)
    own = own_settings(settings, name, ports, {})
    stack = choose_parts(own, step, parts)
    with KafkaProxy(proxied_port) as proxy:
        stack.parts["kafka"] = replace(
            stack.parts["kafka"],
            prepare=lambda run: prepare_proxied_broker(own, run, proxy),
        )
        with run_empty(stack):
            yield stack, proxy


def free_ports(count: int) -> list[int]:
    """Return ports that nobody listens on; they are held together, so that no two are alike."""
    found: list[int] = []
    with ExitStack() as held:
        while len(found) < count:
            port = DICE.choice(PORTS_OF_SERVERS)
            with suppress(OSError):  # somebody listens there
                held.enter_context(socket.create_server((HOST, port)))
                found.append(port)
    return found


def own_settings(
    settings: Settings,
    name: str,
    ports: Sequence[int],
    extras: Mapping[str, Value],
    **changes: Any,
) -> Settings:
    """Return the settings with a folder and ports of their own, those of the extras too."""
    own_ports = dict(zip(PORT_SETTINGS + EXTRA_PORT_SETTINGS, ports, strict=True))
    extra_ports = {setting: own_ports.pop(setting) for setting in EXTRA_PORT_SETTINGS}
    own = {
        "run_dir": settings.run_dir / name,
        "jars_dir": settings.jars,
        "attach": False,
        # What the lab's own clients can work with, whatever .env says.
        "input_topic": INPUT_TOPIC,
        "secure": False,
        "brokers": 1,
        "extras": {**settings.extras, **extra_ports, **extras},
    }
    return settings.model_copy(update=own | own_ports | changes)


def choose_parts(settings: Settings, step: Step, names: Sequence[str]) -> Stack:
    """Return a stack of these parts only, or of all parts if none is named."""
    stack = Stack(settings, step)
    if names:
        stack.parts = {name: part for name, part in stack.parts.items() if name in names}
    return stack


@contextmanager
def run_empty(stack: Stack) -> Iterator[Stack]:
    """Run the stack without data from before, and leave no data behind."""
    stack.claim()  # stops what a killed run has left over
    stack.remove_data()
    try:
        with stack.running():
            yield stack
    finally:
        stack.remove_data()


def prepare_proxied_broker(settings: Settings, run: Run, proxy: KafkaProxy) -> None:
    """Add a listener to the broker; it tells its clients that the broker is where the proxy is."""
    broker.prepare(settings, run)
    main = f"PLAINTEXT://{HOST}:{settings.kafka_port}"
    controller = f"CONTROLLER://{HOST}:{settings.kafka_controller_port}"
    proxied = f"PROXIED://{HOST}:{proxy.broker_port}"
    protocols = ("PLAINTEXT:PLAINTEXT", "CONTROLLER:PLAINTEXT", "PROXIED:PLAINTEXT")
    listeners = {
        "listeners": f"{main},{controller},{proxied}",
        "advertised.listeners": f"{main},PROXIED://{HOST}:{proxy.port}",
        "listener.security.protocol.map": ",".join(protocols),
    }
    file = settings.run_dir / "broker.properties"
    override(file, listeners, file)


def connect_as_admin(
    env: dict[str, str], setting: str = "ADMIN_DATABASE_URL"
) -> psycopg.Connection:
    """Connect as the administrator to the database of this setting."""
    url = make_url(env[setting]).set(username="postgres").render_as_string()
    return psycopg.connect(url, autocommit=True, passfile=env["PGPASSFILE"])


def make_databases(stack: Stack, name: str) -> dict[str, str]:
    """Make both databases once more, empty and without slots; return the environment with them."""
    env = stack.env()
    for setting in TABLES:
        url = make_url(env[setting])
        own = url.set(database=f"{name}_{url.database}")
        env[setting] = own.render_as_string()
    migrate = [sys.executable, "-m", "migrations", "upgrade", "--without-slots"]
    stack.supervisor.run(f"migrations@{name}", migrate, env)
    return env


def drop_databases(env: dict[str, str]) -> None:
    """Remove what make_databases has made."""
    with connect_as_admin(env) as admin:
        for setting in TABLES:
            database = make_url(env[setting]).database
            admin.execute(f"drop database if exists {database} with (force)".encode())


def empty_tables(env: dict[str, str]) -> None:
    """Empty the tables, then checkpoint: full-page images then hit every measurement alike."""
    for setting, tables in TABLES.items():
        with connect_as_admin(env, setting) as admin:
            admin.execute(f"truncate {tables}".encode())
            admin.execute("checkpoint")


def make_topic(servers: str, topic: str, partitions: int) -> None:
    """Make an empty topic and wait until the broker has it."""
    admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
    wanted = NewTopic(topic, partitions, replication_factor=1)
    done = admin.create_topics([wanted], operation_timeout=TOPIC_SECONDS)
    done[topic].result(TOPIC_SECONDS)


def describe_machine(env: dict[str, str]) -> str:
    """Return in a sentence what the numbers belong to; refuse a database that is not durable."""
    with connect_as_admin(env) as admin:
        shown = [admin.execute(f"show {name}".encode()).fetchone() for name in DURABLE]
        server_version = admin.info.parameter_status("server_version")
    names = ", ".join(DURABLE)
    if shown != [("on",)] * len(DURABLE):
        raise StackError(f"{names} must be on, or no number counts: see migrations/postgresql.conf")
    facts = [
        f"{os.cpu_count()} cores",
        f"{platform.system()} {platform.machine()}",
        f"load average at the start {os.getloadavg()[0]:.1f}",
        f"Python {platform.python_version()}",
        f"PostgreSQL {server_version}",
        f"librdkafka {libversion()[0]}",
        f"{names} on",
    ]
    return ", ".join(facts)
