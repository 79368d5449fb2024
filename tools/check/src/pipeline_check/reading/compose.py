"""Docker compose: what each service's environment makes of its image."""

from dataclasses import replace

from pipeline_check.reading.beside import base_beside, variables_beside
from pipeline_check.reading.block import Block, Setting, Settings
from pipeline_check.reading.environment import environment_blocks
from pipeline_check.reading.images import filled_in, kafka_in
from pipeline_check.reading.node import Node
from pipeline_check.reading.placeholder import VARIABLE_ALONE

OF_A_SERVICE = {"image", "build", "environment", "env_file", "extends", "command", "depends_on"}


def is_compose(document: Node) -> bool:
    """Return whether a document is a compose file: applications call other things services, too."""
    services = document.get("services")
    return any(
        name in OF_A_SERVICE
        for _, service in (services.items() if services else [])
        for name, _ in service.items()
    )


def compose_blocks(file: str, document: Node) -> list[Block]:
    """Return the blocks of every service."""
    services = document.get("services")
    found: list[Block] = []
    of_compose = variables_beside(file, ".env") or {}
    for name, service in services.items() if services else []:
        of_files, opaque = env_files(file, service)
        own = variables(service.get("environment"))
        environment = of_files | with_values(own, of_compose)
        if environment:
            blocks = environment_blocks(file, environment, opaque)
            image = image_of(file, service, of_compose)
            found += named_blocks([run_by(each, image) for each in blocks], name)
    return found


def variables(environment: Node | None) -> Settings:
    """Return the variables of a mapping, or of a list of NAME=value."""
    found = {}
    for name, node in environment.items() if environment else []:
        if isinstance(node.value, str):
            found[name] = Setting(node.value, node.line)
    for node in environment.elements() if environment else []:
        name, equals, value = str(node.value).partition("=")
        if equals:
            found[name] = Setting(value, node.line)
        else:
            source = f"the variable {name} of the process that starts it"
            found[name] = Setting("", node.line, source, known=False)
    return found


def with_values(own: Settings, of_compose: Settings) -> Settings:
    """Return variables with the values that compose itself reads from the .env file beside."""
    found = dict(own)
    for name, each in own.items():
        variable = VARIABLE_ALONE.fullmatch(each.text)
        given = of_compose.get(variable[1]) if variable and each.known else None
        if given:
            found[name] = replace(given, line=each.line)
    return found


def env_files(file: str, service: Node) -> tuple[Settings, str]:
    """Return the variables of a service's files, and one that is not here."""
    node = service.get("env_file")
    if not node:
        return {}, ""
    found: Settings = {}
    opaque = ""
    for each in node.elements() or [node]:
        name = each.text("path") or str(each.value)
        inside = variables_beside(file, name)
        if inside is None:
            opaque = f"env_file {name}"
        else:
            found |= {key: replace(value, line=each.line) for key, value in inside.items()}
    return found, opaque


def image_of(file: str, service: Node, of_compose: Settings) -> str:
    """Return the image of a service, or the one that it is built from."""
    values = {name: each.text for name, each in of_compose.items()}
    build = service.get("build")
    if not build:
        return filled_in(service.text("image"), values)
    arguments = {name: filled_in(each.text, values) for name, each in given_to(build).items()}
    context = filled_in(build.text("context") or build.text() or ".", values)
    base = base_beside(file, context, build.text("dockerfile"), arguments)
    return base or filled_in(service.text("image"), values)


def given_to(build: Node) -> Settings:
    """Return the arguments of a build."""
    return variables(build.get("args"))


def run_by(block: Block, image: str) -> Block:
    """Return a worker with the version of Kafka in its image."""
    version = kafka_in(image) if block.kind == "worker" else None
    return replace(block, version=version, version_from=f"the image {image}") if version else block


def named_blocks(blocks: list[Block], name: str) -> list[Block]:
    """Return the blocks under the name of their service."""
    return [replace(each, name=name) for each in blocks]
