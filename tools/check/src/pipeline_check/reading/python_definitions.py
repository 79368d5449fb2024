"""Where a name or an attribute gets its value: in a class, or in another module of the project.

Only files below the project are read, and none is run. What is bound twice, or changed later, is
not found: nobody could say here which value holds.
"""

import ast
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from pipeline_check.reading.python_scopes import (
    CHANGING_METHODS,
    Function,
    Scope,
    assigned_value,
    full_name,
    function_scope,
    imported_names,
)

HIGHEST = 6  # folders above a file in which an absolute import may begin
LARGEST = 500_000  # bytes of a module of settings
DEEPEST = 8  # modules that import from modules
FIELDS = ("Field", "field")  # of pydantic and of dataclasses
DECLARING = ("BaseSettings", "BaseModel", "NamedTuple")
PROPERTIES = ("property", "cached_property")


class Definition(NamedTuple):
    """What a name stands for, and where to read it."""

    node: ast.AST
    names: dict[str, str]
    scope: Scope
    source: str = ""  # why it may be another value when the program runs
    elsewhere: bool = False  # in another file, whose lines are none of ours


def find_definition(
    node: ast.expr, names: dict[str, str], scope: Scope, depth: int = 0
) -> Definition | None:
    """Return the expression, the function or the class that a name or an attribute means."""
    if depth > DEEPEST:
        return None
    if isinstance(node, ast.Name):
        return find_name(node, names, scope, depth)
    if not isinstance(node, ast.Attribute):
        return None
    if isinstance(node.value, ast.Name) and node.value.id == "self" and scope.owner:
        return find_attribute(scope.owner, node.attr, names, scope.module(), depth)
    owner = find_class(node.value, names, scope, depth)
    if owner and isinstance(owner.node, ast.ClassDef):
        found = find_attribute(owner.node, node.attr, owner.names, owner.scope, depth)
        return found and found._replace(elsewhere=found.elsewhere or owner.elsewhere)
    return find_in_modules(full_name(node, names), scope, depth)


def find_name(node: ast.Name, names: dict[str, str], scope: Scope, depth: int) -> Definition | None:
    """Return what binds a name: here, or in the module that it was imported from."""
    holder = scope.holder(node.id)
    if not holder:
        imported = names.get(node.id, "")
        return find_in_modules(imported, scope, depth) if imported else None
    if node.id in holder.parameters:
        return None
    statements = holder.statements(node.id)
    statement = statements[0].node
    if len(statements) > 1:
        return None
    if isinstance(statement, ast.ClassDef | Function):
        return Definition(statement, names, holder)
    assigned = assigned_value(statement)
    return Definition(assigned[1], names, holder) if assigned else None


# Classes


def find_class(
    node: ast.expr, names: dict[str, str], scope: Scope, depth: int
) -> Definition | None:
    """Return the class that an expression is, or is an instance of."""
    if isinstance(node, ast.Call):
        made = find_definition(node.func, names, scope, depth + 1)
        return made and class_made(made, depth)
    if isinstance(node, ast.Name):
        holder = scope.holder(node.id)
        annotation = holder.annotations.get(node.id) if holder else None
        if annotation:
            return find_class(annotation, names, scope, depth + 1)
    found = find_definition(node, names, scope, depth + 1)
    return found and class_made(found, depth)


def class_made(found: Definition, depth: int) -> Definition | None:
    """Return the class that something is, that it makes, or whose instance it holds."""
    made = found.node
    if isinstance(made, ast.ClassDef):
        return found
    if isinstance(made, Function):
        result = only_return(made)
        made = result.value if result and result.value else made
    if isinstance(made, ast.Call):
        inner = find_class(made.func, found.names, found.scope, depth + 1)
        return inner and inner._replace(elsewhere=inner.elsewhere or found.elsewhere)
    return None


def find_attribute(
    owner: ast.ClassDef, name: str, names: dict[str, str], scope: Scope, depth: int
) -> Definition | None:
    """Return what an attribute of a class or of its instances is, if it is given once."""
    given = list(definitions_in(owner, name, names, scope))
    if len(given) == 1 and not is_changed(owner, name):
        return given[0]
    if given or depth > DEEPEST:
        return None
    for base in owner.bases:
        above = find_definition(base, names, scope, depth + 1)
        if above and isinstance(above.node, ast.ClassDef):
            found = find_attribute(above.node, name, above.names, above.scope, depth + 1)
            if found:
                return found._replace(elsewhere=found.elsewhere or above.elsewhere)
    return None


def definitions_in(
    owner: ast.ClassDef, name: str, names: dict[str, str], scope: Scope
) -> Iterator[Definition]:
    """Yield every place in a class that gives an attribute its value."""
    declared = is_declared(owner, names)
    for statement in owner.body:
        assigned = assigned_value(statement)
        if assigned and isinstance(assigned[0], ast.Name) and assigned[0].id == name:
            source = f"{owner.name}.{name}, whose default is judged" if declared else ""
            yield Definition(default_of(assigned[1]), names, scope, source)
        if not isinstance(statement, Function):
            continue
        inside = function_scope(statement, scope)
        inside = inside.owned_by(owner)
        if statement.name == name:
            yield property_or_method(statement, names, inside)
        for inner in ast.walk(statement):
            bound = assigned_value(inner) if isinstance(inner, ast.stmt) else None
            if bound and is_own(bound[0], name):
                yield Definition(bound[1], names, inside)


def property_or_method(
    function: ast.FunctionDef | ast.AsyncFunctionDef, names: dict[str, str], inside: Scope
) -> Definition:
    """Return the value of a property, or a method as it is."""
    result = only_return(function)
    decorators = [full_name(each, names).rpartition(".")[2] for each in function.decorator_list]
    is_property = any(each in PROPERTIES for each in decorators)
    if is_property and result and result.value:
        return Definition(result.value, names, inside)
    return Definition(function, names, inside)


def is_declared(owner: ast.ClassDef, names: dict[str, str]) -> bool:
    """Return whether a class's values are defaults: of a dataclass, of pydantic's settings."""
    bases = [full_name(base, names).rpartition(".")[2] for base in owner.bases]
    decorators = [ast.unparse(each) for each in owner.decorator_list]
    has_fields = any(base.endswith(DECLARING) for base in bases)
    return has_fields or any("dataclass" in each for each in decorators)


def default_of(node: ast.expr) -> ast.expr:
    """Return the default inside `Field("all")` or `field(default_factory=lambda: {…})`."""
    if not isinstance(node, ast.Call) or full_name(node.func, {}).rpartition(".")[2] not in FIELDS:
        return node
    for keyword in node.keywords:
        if keyword.arg == "default":
            return keyword.value
        if keyword.arg == "default_factory" and isinstance(keyword.value, ast.Lambda):
            return keyword.value.body
    return node.args[0] if node.args else node


def is_own(node: ast.AST, name: str) -> bool:
    """Return whether this is `self.name`."""
    if not isinstance(node, ast.Attribute) or node.attr != name:
        return False
    return isinstance(node.value, ast.Name) and node.value.id == "self"


def is_changed(owner: ast.ClassDef, name: str) -> bool:
    """Return whether a method fills or updates what an attribute holds."""
    return any(is_own(changed, name) for changed in changed_in(owner))


def changed_in(owner: ast.ClassDef) -> Iterator[ast.expr]:
    """Yield what the methods of a class fill, delete from or update."""
    for node in ast.walk(owner):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
            yield node.value
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            is_change = node.func.attr in CHANGING_METHODS
            yield from [node.func.value] if is_change else []


def only_return(statement: ast.AST) -> ast.Return | None:
    """Return the only `return` with a value inside a statement, if there is exactly one."""
    found = [node for node in ast.walk(statement) if isinstance(node, ast.Return) and node.value]
    return found[0] if len(found) == 1 else None


# Modules


def find_in_modules(dotted: str, scope: Scope, depth: int) -> Definition | None:
    """Return what a full name such as `.config.PRODUCER` means in a module of the project."""
    if not dotted or not scope.file:
        return None
    parts = dotted.lstrip(".").split(".")
    level = len(dotted) - len(dotted.lstrip("."))
    for count in range(len(parts) - 1, -1, -1):
        file = module_file(scope.file, level, tuple(parts[:count]))
        module = load_module(file) if file and file != scope.file else None
        if not module:
            continue
        names, inner = module
        node: ast.expr = ast.Name(parts[count])
        for name in parts[count + 1 :]:
            node = ast.Attribute(node, name)
        found = find_definition(ast.fix_missing_locations(node), names, inner, depth + 1)
        return found and found._replace(elsewhere=True)
    return None


@cache
def module_file(importer: str, level: int, parts: tuple[str, ...]) -> str:
    """Return the file of a module as seen from another one; nothing if it is not the project's."""
    folder = Path(importer).absolute().parent
    if level:
        folders = [folder.parents[level - 2] if level > 1 else folder]
    else:
        folders = [folder, *folder.parents[:HIGHEST]]
    if not parts and not level:
        return ""
    for place in folders:
        path = place.joinpath(*parts)
        for file in (path.with_suffix(".py") if parts else path, path / "__init__.py"):
            if file.suffix == ".py" and file.is_file() and not file.is_symlink():
                return str(file)
        if (place / ".git").exists():
            break
    return ""


@cache
def load_module(file: str) -> tuple[dict[str, str], Scope] | None:
    """Return a module's imports and its scope; nothing if it cannot be read."""
    try:
        path = Path(file)
        if path.stat().st_size > LARGEST:
            return None
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(path.read_text(encoding="utf-8-sig", errors="replace"))
    except (OSError, SyntaxError, ValueError, MemoryError, RecursionError):
        return None
    return imported_names(tree), Scope(tree.body, file=file)
