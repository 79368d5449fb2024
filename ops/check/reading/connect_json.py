"""Connector JSON: bare, as `{"name", "config"}`, and what Connect's REST API returns for one or for many."""

from collections.abc import Iterator

from ops.check.reading.block import Block
from ops.check.reading.json_text import parse_json
from ops.check.reading.node import Node
from ops.check.reading.placeholder import connect_setting


def read_json(file: str, text: str) -> list[Block]:
    """Every connector in the document; other JSON holds none."""
    return [connector(file, name, config) for name, config in connectors(parse_json(file, text), "")]


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
        key: connect_setting(value.value, value.line) for key, value in config.items() if isinstance(value.value, str)
    }
    return Block(file, config.line, "connector", "connect", name, settings)
