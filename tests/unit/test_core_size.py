"""The core that people copy and change is small enough to be read in one sitting."""

import ast
import tomllib
from fnmatch import fnmatch

from ops.settings import ROOT

CORE = ("service", "connect", "migrations", "spark")
LIMIT = 1600
EXTRAS: list[str] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pipeline"]["extras"]
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
EXAMPLE = '''"""A docstring,
over two lines."""

# A comment.
QUERY = """
    -- A comment of SQL.
    select 1
"""  # beside code


def answer() -> str:
    """A promise."""
    return QUERY
'''


def code_lines(source: str) -> int:
    """How many lines are code: Python, and SQL inside it; blank lines, comments and docstrings are not."""
    promised: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node) is not None:
            promised.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    lines = enumerate(map(str.strip, source.splitlines()), 1)
    return sum(1 for n, line in lines if n not in promised and line and not line.startswith(("#", "--")))


def files() -> list[str]:
    """Every Python file of the core, extras too."""
    return [str(file.relative_to(ROOT)) for folder in CORE for file in sorted((ROOT / folder).rglob("*.py"))]


def core() -> dict[str, int]:
    """The size of each file of the core that is no extra."""
    left = [name for name in files() if not any(fnmatch(name, pattern) for pattern in EXTRAS)]
    return {name: code_lines((ROOT / name).read_text()) for name in left}


def test_only_code_is_counted() -> None:
    """Of an example with every kind of line, the five that do something are counted."""
    assert code_lines(EXAMPLE) == 5


def test_the_core_is_read_in_one_sitting() -> None:
    """Without the extras that may be deleted, the core has fewer than 1,600 lines of Python and SQL."""
    sizes = core()
    largest = sorted(sizes.items(), key=lambda of: -of[1])[:8]
    assert "service/handler.py" in sizes
    assert sum(sizes.values()) < LIMIT, f"{sum(sizes.values())} lines of code; the largest: {largest}"


def test_there_is_no_other_code() -> None:
    """SQL stands in the Python that runs it: no file of the core escapes the count."""
    assert [file for folder in CORE for file in (ROOT / folder).rglob("*.sql")] == []
