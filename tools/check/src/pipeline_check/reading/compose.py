"""Docker compose: what each service's environment makes of it."""

from dataclasses import replace

from pipeline_check.reading.block import Block, Setting
from pipeline_check.reading.environment import environment_blocks
from pipeline_check.reading.node import Node


def compose_blocks(file: str, document: Node) -> list[Block]:
    """The blocks of every service."""
    services = document.get("services")
    found = []
    for name, service in services.items() if services else []:
        environment = service.get("environment")
        more = "env_file" if service.get("env_file") else ""
        found += (
            named(environment_blocks(file, variables(environment), more), name)
            if environment
            else []
        )
    return found


def variables(environment: Node) -> dict[str, Setting]:
    """The variables of a mapping, or of a list of NAME=value."""
    found = {
        name: Setting(node.value, node.line)
        for name, node in environment.items()
        if isinstance(node.value, str)
    }
    for node in environment.elements():
        name, equals, value = str(node.value).partition("=")
        inherited = Setting("", node.line, f"the variable {name} of whoever starts it", known=False)
        found[name] = Setting(value, node.line) if equals else inherited
    return found


def named(blocks: list[Block], name: str) -> list[Block]:
    """The same, called like their service."""
    return [replace(each, name=name) for each in blocks]
