"""Docker compose: what each service's environment makes of its image."""

from dataclasses import replace

from pipeline_check.reading.block import Block, Setting, Settings
from pipeline_check.reading.environment import environment_blocks
from pipeline_check.reading.node import Node


def compose_blocks(file: str, document: Node) -> list[Block]:
    """Return the blocks of every service."""
    services = document.get("services")
    found: list[Block] = []
    for name, service in services.items() if services else []:
        environment = service.get("environment")
        if environment:
            opaque = "env_file" if service.get("env_file") else ""
            blocks = environment_blocks(file, variables(environment), opaque)
            found += named_blocks(blocks, name)
    return found


def variables(environment: Node) -> Settings:
    """Return the variables of a mapping, or of a list of NAME=value."""
    found = {}
    for name, node in environment.items():
        if isinstance(node.value, str):
            found[name] = Setting(node.value, node.line)
    for node in environment.elements():
        name, equals, value = str(node.value).partition("=")
        if equals:
            found[name] = Setting(value, node.line)
        else:
            source = f"the variable {name} of the process that starts it"
            found[name] = Setting("", node.line, source, known=False)
    return found


def named_blocks(blocks: list[Block], name: str) -> list[Block]:
    """Return the blocks under the name of their service."""
    return [replace(each, name=name) for each in blocks]
