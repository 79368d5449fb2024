"""Kubernetes: Strimzi's resources, the environment of containers, and files inside config maps."""

from collections.abc import Iterator
from dataclasses import replace

from pipeline_check.reading.block import Block, Kind, Setting
from pipeline_check.reading.classify import replaced, resolved
from pipeline_check.reading.compose import named
from pipeline_check.reading.environment import environment_blocks
from pipeline_check.reading.flat_file import read_properties
from pipeline_check.reading.node import Node, flat
from pipeline_check.reading.unreadable import UnreadableError

STRIMZI: dict[str, tuple[Kind, tuple[str, ...]]] = {  # what it is, and where its settings are
    "Kafka": ("broker", ("spec", "kafka", "config")),
    "KafkaConnect": ("worker", ("spec", "config")),
    "KafkaConnector": ("connector", ("spec", "config")),
    "KafkaTopic": ("topic", ("spec", "config")),
}


def kubernetes_blocks(file: str, document: Node) -> list[Block]:
    """The blocks of one resource, or of a list of them."""
    kind, name = document.text("kind"), document.text("metadata", "name")
    if kind.endswith("List"):
        items = document.get("items")
        return [
            block
            for item in (items.elements() if items else [])
            for block in kubernetes_blocks(file, item)
        ]
    if kind in STRIMZI and "strimzi" in document.text("apiVersion"):
        return [strimzi(file, document, kind, name)]
    if kind.startswith("KafkaMirrorMaker"):
        return [Block(file, document.line, "unjudged", "MirrorMaker 2", name)]
    if kind in ("ConfigMap", "Secret"):
        return config_map(file, document, name)
    found = []
    for each in containers(document):
        found += environment_blocks(file, variables(each), "envFrom" if each.get("envFrom") else "")
    return named(found, name)


def strimzi(file: str, document: Node, kind: str, name: str) -> Block:
    """A broker, a worker, a connector or a topic."""
    of, path = STRIMZI[kind]
    config = document.get(*path) or Node({}, document.line)
    settings = {key: Setting(str(node.value), node.line) for key, node in flat(config)}
    spec = document.get("spec") or Node({}, document.line)
    given = {
        "class": "connector.class",
        "tasksMax": "tasks.max",
        "replicas": "replication.factor",
        "topicName": "name",
    }
    for short, full in given.items() if of in ("connector", "topic") else ():
        if node := spec.get(short):
            settings[full] = Setting(str(node.value), node.line)
    settings = resolved(settings) if of in ("connector", "worker") else replaced(settings)
    return Block(
        file,
        config.line or document.line,
        of,
        "connect" if "onnect" in kind else "java",
        name,
        settings,
    )


def config_map(file: str, document: Node, name: str) -> list[Block]:
    """Files inside, read like files; single values, read like variables."""
    data = [
        pair
        for part in ("data", "stringData")
        if (node := document.get(part))
        for pair in node.items()
    ]
    found = environment_blocks(
        file, {key: Setting(str(node.value), node.line) for key, node in data}
    )
    for key, node in data:
        if isinstance(node.value, str) and key.endswith(".properties"):
            found += [moved(block, node.line) for block in read_inside(file, node)]
    return named(found, name)


def read_inside(file: str, node: Node) -> list[Block]:
    """A .properties file in a text; its errors stand below the line that names it."""
    try:
        return read_properties(file, str(node.value))
    except UnreadableError as broken:
        raise UnreadableError(file, node.line + broken.line, broken.why) from None


def moved(block: Block, by: int) -> Block:
    """The same, with the lines of the file around it."""
    settings = {
        name: Setting(each.text, each.line + by, each.source, each.known)
        for name, each in block.settings.items()
    }
    return replace(block, line=block.line + by, settings=settings)


def containers(node: Node) -> Iterator[Node]:
    """Every container, however deep the pod stands."""
    for key, child in node.items():
        if key in ("containers", "initContainers"):
            yield from child.elements()
        else:
            yield from containers(child)


def variables(container: Node) -> dict[str, Setting]:
    """The variables of a container; what a secret or a config map brings is unknown."""
    env = container.get("env")
    found = {}
    for each in env.elements() if env else []:
        plain = each.get("value")
        referred = Setting("", each.line, "a valueFrom", known=False)
        found[each.text("name")] = Setting(str(plain.value), plain.line) if plain else referred
    return found
