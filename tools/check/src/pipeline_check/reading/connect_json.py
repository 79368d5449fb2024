"""JSON: connectors, bare, as `{"name", "config"}` or as Connect's REST API returns them; and lists of topics."""

from collections.abc import Iterator

from pipeline_check.reading.block import Block, Setting
from pipeline_check.reading.json_text import parse_json
from pipeline_check.reading.node import Node
from pipeline_check.reading.placeholder import connect_setting


def read_json(file: str, text: str) -> list[Block]:
    """Every connector and every topic in the document; other JSON holds none."""
    document = parse_json(file, text)
    found = [connector(file, name, config) for name, config in connectors(document, "")]
    return found + [
        topic(file, name, node) for name, node in document.items() if node.get("partitions")
    ]


def connectors(node: Node, name: str) -> Iterator[tuple[str, Node]]:
    """Names and configurations, wherever the API or a person put them."""
    if node.get("connector.class"):
        yield node.text("name") or name, node
    elif config := node.get("config"):
        yield from connectors(config, node.text("name") or name)
    elif info := node.get("info"):  # GET /connectors?expand=info
        yield from connectors(info, name)
    else:
        children = node.items() or [("", each) for each in node.elements()]
        for key, child in children:
            if child.get("connector.class") or child.get("config") or child.get("info"):
                yield from connectors(child, key)


def connector(file: str, name: str, config: Node) -> Block:
    """One connector's settings."""
    settings = {
        key: connect_setting(value.value, value.line)
        for key, value in config.items()
        if isinstance(value.value, str)
    }
    return Block(file, config.line, "connector", "connect", name, settings)


def topic(file: str, name: str, node: Node) -> Block:
    """A topic under its name, with `partitions`, maybe `replication_factor`, and `config`."""
    config = node.get("config") or Node({}, node.line)
    settings = {
        key: Setting(each.value, each.line)
        for key, each in config.items()
        if isinstance(each.value, str)
    }
    copies = node.get("replication_factor")
    if copies and isinstance(copies.value, str):
        settings["replication.factor"] = Setting(copies.value, copies.line)
    return Block(
        file,
        node.line,
        "topic",
        "java",
        name,
        settings,
        "" if copies else "whoever makes the topic",
    )
