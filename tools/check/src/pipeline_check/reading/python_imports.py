"""What was imported as what, in Python sources."""

import ast


def imported(tree: ast.Module) -> dict[str, str]:
    """Each imported name with the full name of what it is."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.split(".")[0]
                found[alias.asname or first] = alias.name if alias.asname else first
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {
                alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names
            }
    return found


def full_name(node: ast.expr, names: dict[str, str]) -> str:
    """The full name of what an expression names: ck.Producer is confluent_kafka.Producer."""
    if isinstance(node, ast.Attribute):
        before = full_name(node.value, names)
        return f"{before}.{node.attr}" if before else ""
    return names.get(node.id, node.id) if isinstance(node, ast.Name) else ""
