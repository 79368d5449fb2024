"""Where a proof happens: the parts it needs, on a stack of its own, whose broker sends its clients to the proxy."""

import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from lab.prove.count import PARTITIONS
from lab.prove.proxy import Proxy
from ops.settings import HOST, Settings
from ops.stack import broker
from ops.stack.jars import Run
from ops.stack.stack import Stack, Step

PORTS = ("postgres_port", "kafka_port", "kafka_controller_port", "connect_port", "for_the_proxy")


@contextmanager
def own_stack(
    settings: Settings, step: Step, parts: Sequence[str]
) -> Iterator[tuple[Stack, Proxy]]:
    """A fresh one beside whatever runs, with the proxy before its broker; gone afterwards, logs apart."""
    with free_ports() as ports:
        proxy = Proxy(ports["for_the_proxy"])
    place = {
        "run_dir": settings.run_dir / "prove",
        "jars_dir": settings.jars,
        "attach": False,
        **ports,
    }
    own = settings.model_copy(update=place)
    with proxy:
        stack = Stack(own, step)
        stack.parts = {name: part for name, part in stack.parts.items() if name in parts}
        stack.parts["kafka"] = replace(
            stack.parts["kafka"], prepare=lambda run: listen(own, run, proxy)
        )
        stack.claim()  # stops what a killed proof has left over
        stack.remove_data()
        try:
            with stack.running():
                yield stack, proxy
        finally:
            stack.remove_data()


@contextmanager
def free_ports() -> Iterator[dict[str, int]]:
    """Ports that nobody listens on, so that no running stack is in the way; nobody gets them in the block."""
    with ExitStack() as held:
        found = [held.enter_context(socket.create_server((HOST, 0))) for _ in PORTS]
        yield {name: server.getsockname()[1] for name, server in zip(PORTS, found, strict=True)}


def listen(settings: Settings, run: Run, proxy: Proxy) -> None:
    """One listener more: who comes by it is told that the broker is where the proxy is, and stays with that."""
    broker.prepare(settings, run)
    main, controller = (
        f"PLAINTEXT://{HOST}:{settings.kafka_port}",
        f"{HOST}:{settings.kafka_controller_port}",
    )
    more = {
        "listeners": f"{main},CONTROLLER://{controller},PROXIED://{HOST}:{proxy.broker_port}",
        "advertised.listeners": f"{main},PROXIED://{HOST}:{proxy.port}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,PROXIED:PLAINTEXT",
    }
    file = settings.run_dir / "broker.properties"
    broker.override(file, more, file)


def make_topic(stack: Stack, topic: str) -> None:
    """An empty topic."""
    admin = AdminClient(
        {"bootstrap.servers": stack.env()["KAFKA_BOOTSTRAP_SERVERS"], "log_level": 0}
    )
    admin.create_topics([NewTopic(topic, PARTITIONS, 1)])[topic].result(30)
