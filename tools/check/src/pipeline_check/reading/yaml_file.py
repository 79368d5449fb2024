"""A YAML file: compose, Kubernetes and Strimzi, or Spring Boot; each document for itself."""

from pipeline_check.reading.block import Block, Setting
from pipeline_check.reading.compose import compose_blocks
from pipeline_check.reading.flat_file import flat_blocks
from pipeline_check.reading.kubernetes import kubernetes_blocks
from pipeline_check.reading.node import flat
from pipeline_check.reading.yaml_text import parse_yaml


def read_yaml(file: str, text: str) -> list[Block]:
    """Every block of every document; a Spring profile is read together with the document that all profiles share."""
    found: list[Block] = []
    shared: dict[str, Setting] = {}
    for document in parse_yaml(file, text):
        if document.text("apiVersion") and document.text("kind"):
            found += kubernetes_blocks(file, document)
        elif document.get("services"):
            found += compose_blocks(file, document)
        else:
            settings = {name: Setting(str(node.value), node.line) for name, node in flat(document)}
            profile = any("on-profile" in name or name == "spring.profiles" for name in settings)
            found += spring_document(file, shared | settings if profile else settings, settings)
            shared = shared if profile else shared | settings
    return found


def spring_document(
    file: str, settings: dict[str, Setting], own: dict[str, Setting]
) -> list[Block]:
    """The blocks of a document that says something about Kafka itself."""
    plain = {name.replace(".[", ".").replace("]", ""): each for name, each in settings.items()}
    return flat_blocks(file, plain) if any("kafka" in name for name in own) else []
