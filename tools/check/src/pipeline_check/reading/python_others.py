"""Kafka clients that a Python source imports, and that there are no rules for here."""

import ast

from pipeline_check.reading.block import Block

OTHERS = (
    "faust",
    "quixstreams",
    "pykafka",
    "faststream.kafka",
    "faststream.confluent",
    "bytewax.connectors.kafka",
)


def others(file: str, tree: ast.Module) -> list[Block]:
    """Clients that are imported here and that we have no rules for."""
    found = []
    for node in tree.body:
        modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        modules += (
            [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
        )
        names = [
            other for module in modules for other in OTHERS if f"{module}.".startswith(f"{other}.")
        ]
        found += [Block(file, node.lineno, "unjudged", name) for name in names]
    return found[:1]
