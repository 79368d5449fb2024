"""Kubernetes: Strimzi's resources, the environment of containers, and files in config maps."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import PurePath

from pipeline_check.reading.block import Block, Kind, Setting, Settings
from pipeline_check.reading.compose import named_blocks, run_by
from pipeline_check.reading.embedded import read_shell
from pipeline_check.reading.environment import environment_blocks
from pipeline_check.reading.json_file import read_json
from pipeline_check.reading.node import Node, flatten
from pipeline_check.reading.placeholder import FILLED_IN, resolve_providers, substitute
from pipeline_check.reading.properties_file import read_properties
from pipeline_check.reading.said import NUMBER, parse
from pipeline_check.reading.unreadable import UnreadableError

Reader = Callable[[str, str], list[Block]]
INNER_READERS: dict[str, Reader] = {
    ".properties": read_properties,
    ".json": read_json,
    ".sh": read_shell,
}
STRIMZI: dict[str, tuple[Kind, tuple[str, ...]]] = {  # what it is, and where its settings are
    "Kafka": ("broker", ("spec", "kafka", "config")),
    "KafkaConnect": ("worker", ("spec", "config")),
    "KafkaConnector": ("connector", ("spec", "config")),
    "KafkaTopic": ("topic", ("spec", "config")),
}
SPEC_FIELDS = {  # fields of Strimzi's that stand for settings
    "class": "connector.class",
    "tasksMax": "tasks.max",
    "replicas": "replication.factor",
    "topicName": "name",
}


def kubernetes_blocks(file: str, document: Node) -> list[Block]:
    """Return the blocks of one resource, or of a list of them."""
    kind = document.text("kind")
    name = document.text("metadata", "name")
    found: list[Block] = []
    if kind.endswith("List"):
        items = document.get("items")
        for item in items.elements() if items else []:
            found += kubernetes_blocks(file, item)
        return found
    if kind in STRIMZI and "strimzi" in document.text("apiVersion"):
        return [of_its_version(strimzi_block(file, document, kind, name), document)]
    if kind == "KafkaMirrorMaker2":
        return [mirror_worker(file, document, name)]
    if kind == "KafkaMirrorMaker":
        return [Block(file, document.line, "unjudged", "MirrorMaker 1", name)]
    if kind in ("ConfigMap", "Secret"):
        return config_map_blocks(file, document, name)
    for container in containers(document):
        opaque = "envFrom" if container.get("envFrom") else ""
        blocks = environment_blocks(file, variables(container), opaque)
        found += [run_by(each, container.text("image")) for each in blocks]
        found += posted_blocks(file, container)
    return named_blocks(found, name)


def strimzi_block(file: str, document: Node, kind: str, name: str) -> Block:
    """Return the broker, worker, connector or topic of a Strimzi resource."""
    block_kind, path = STRIMZI[kind]
    nothing = Node({}, document.line)
    config = document.get(*path) or nothing
    settings = {key: Setting(str(node.value), node.line) for key, node in flatten(config)}
    if block_kind in ("connector", "topic"):
        spec = document.get("spec") or nothing
        for field, setting in SPEC_FIELDS.items():
            node = spec.get(field)
            if node:
                settings[setting] = Setting(str(node.value), node.line)
    is_connect = block_kind in ("connector", "worker")
    is_open = any(FILLED_IN in key for key in settings)  # a name that only the template knows
    return Block(
        file,
        config.line or document.line,
        block_kind,
        "connect" if is_connect else "java",
        name,
        resolve_providers(settings) if is_connect else substitute(settings),
        opaque="what its template fills in" if is_open else "",
    )


def of_its_version(block: Block, document: Node) -> Block:
    """Return a worker with the version of Kafka that its resource asks for, or its image has."""
    number = document.text("spec", "version")
    if block.kind != "worker" or not NUMBER.fullmatch(number):
        return run_by(block, document.text("spec", "image"))
    return replace(block, version=parse(number), version_from=f"spec.version {number}")


def mirror_worker(file: str, document: Node, name: str) -> Block:
    """Return the worker of a MirrorMaker 2, which has its settings from the target's cluster."""
    target = document.get("spec", "target")
    alias = document.text("spec", "connectCluster")
    clusters = document.get("spec", "clusters")
    for each in clusters.elements() if clusters else []:
        if each.text("alias") == alias:
            target = each
    if not target:
        return Block(file, document.line, "unjudged", "a MirrorMaker 2 without a target", name)
    config = target.get("config") or Node({}, target.line)
    settings = {key: Setting(str(node.value), node.line) for key, node in flatten(config)}
    return Block(file, target.line, "worker", "connect", name, resolve_providers(settings))


def config_map_blocks(file: str, document: Node, name: str) -> list[Block]:
    """Read the files inside like files, and single values like variables."""
    entries: list[tuple[str, Node]] = []
    for part in ("data", "stringData"):
        node = document.get(part)
        entries += node.items() if node else []
    variables = {key: Setting(str(node.value), node.line) for key, node in entries}
    found = environment_blocks(file, variables)
    for key, node in entries:
        reader = INNER_READERS.get(PurePath(key).suffix)
        if reader and isinstance(node.value, str):
            inside = read_inner(reader, file, node)
            found += [block.moved_down(node.line) for block in inside]
    return named_blocks(found, name)


def read_inner(reader: Reader, file: str, node: Node) -> list[Block]:
    """Read a file inside a text; its lines follow the one that names it."""
    try:
        return reader(file, str(node.value))
    except UnreadableError as broken:
        raise UnreadableError(file, node.line + broken.line, broken.why) from None


def posted_blocks(file: str, container: Node) -> Iterator[Block]:
    """Yield the connectors that a container's script posts."""
    for part in ("command", "args"):
        node = container.get(part)
        for each in node.elements() if node else []:
            if isinstance(each.value, str) and "connector.class" in each.value:
                for block in read_inner(read_shell, file, each):
                    yield block.moved_down(each.line)


def containers(node: Node) -> Iterator[Node]:
    """Yield every container, however deep its pod is."""
    for key, child in node.items():
        if key in ("containers", "initContainers"):
            yield from child.elements()
        else:
            yield from containers(child)


def variables(container: Node) -> Settings:
    """Return the variables of a container; what a secret or a config map brings is unknown."""
    env = container.get("env")
    found = {}
    for each in env.elements() if env else []:
        setting = Setting("", each.line, "a valueFrom", known=False)
        value = each.get("value")
        if value:
            setting = Setting(str(value.value), value.line)
        found[each.text("name")] = setting
    return found
