"""What the callers of a function give for a parameter, in all modules of a project."""

import ast
import re
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from pipeline_check.reading.python_scopes import Scope
from pipeline_check.reading.roots import up_to_the_root
from pipeline_check.walk import files_below

LARGEST = 500_000  # bytes
MOST = 20_000  # files of a project that are looked through
OF_TESTS = re.compile(r"(^|/)(tests?/|test_|conftest)|_test\.py$")


@cache
def modules_of(root: Path, *, with_tests: bool) -> tuple[str, ...]:
    """Return the text of each Python module of a project."""
    found = []
    for count, path in enumerate(files_below(root)):
        if count > MOST:
            break
        is_left_out = is_test(root, path) and not with_tests
        if path.suffix == ".py" and not is_left_out and path.stat().st_size <= LARGEST:
            found.append(path.read_text(encoding="utf-8-sig", errors="replace"))
    return tuple(found)


def is_test(root: Path, path: Path) -> bool:
    """Return whether a module tests others, and may call them with whatever it likes."""
    return OF_TESTS.search(path.relative_to(root).as_posix()) is not None


@cache
def calls_in_project(root: Path, called: str, *, with_tests: bool) -> tuple[ast.Call, ...] | None:
    """Return every call of a function or class of this name; nothing where a class extends it."""
    found: list[ast.Call] = []
    mentioned = re.compile(rf"\b{re.escape(called)}\b")
    extended = re.compile(rf"class\s+\w+\([^)]*\b{re.escape(called)}\b")
    for text in modules_of(root, with_tests=with_tests):
        if not mentioned.search(text):
            continue
        if extended.search(text):
            return None
        found += calls_in_text(text, called)
    return tuple(found)


def calls_in_text(text: str, called: str) -> Iterator[ast.Call]:
    """Yield every call of a name in a module."""
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            is_name = isinstance(node.func, ast.Name) and node.func.id == called
            is_attribute = isinstance(node.func, ast.Attribute) and node.func.attr == called
            if is_name or is_attribute:
                yield node


def default_that_holds(name: str, function: Scope) -> ast.expr | None:
    """Return the default of a parameter if every call in the project leaves it, or repeats it."""
    default = function.defaults.get(name)
    is_constructor = function.name == "__init__" and function.owner is not None
    called = function.owner.name if is_constructor and function.owner else function.name
    if default is None or not called or not function.file:
        return None
    path = Path(function.file).absolute()
    root = up_to_the_root(path.parent)[-1]
    calls = calls_in_project(root, called, with_tests=is_test(root, path))
    if calls is None:
        return None
    position = -1
    if name in function.positions:
        is_method = function.owner is not None
        position = list(function.positions).index(name) - is_method
    for call in calls:
        given = argument_of(call, name, position)
        if given is UNKNOWN or (given is not None and not is_same(given, default)):
            return None
    return default


UNKNOWN = ast.expr()


def argument_of(call: ast.Call, name: str, position: int) -> ast.expr | None:
    """Return what a call gives for a parameter; UNKNOWN where it unpacks something."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    unpacks = any(keyword.arg is None for keyword in call.keywords)
    if unpacks or any(isinstance(each, ast.Starred) for each in call.args):
        return UNKNOWN
    return call.args[position] if 0 <= position < len(call.args) else None


def is_same(one: ast.expr, other: ast.expr) -> bool:
    """Return whether two expressions are the same literal."""
    are_literals = isinstance(one, ast.Constant) and isinstance(other, ast.Constant)
    return are_literals and ast.dump(one) == ast.dump(other)
