"""What the README says of this repository is so."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
PROMISES = re.findall(r"\[(\w+)\]\((tests/[\w/]+\.py)\)", README)


def test_every_promise_names_a_test() -> None:
    """Each row of the table of promises links to at least one test."""
    table = README.partition("## What is promised")[2].partition('\n\n"Exactly once"')[0]
    rows = [line for line in table.splitlines() if line.startswith("| ") and "---" not in line][1:]
    assert len(rows) > 15
    assert [row for row in rows if "](tests/" not in row] == []


@pytest.mark.parametrize(("name", "file"), PROMISES)
def test_a_promise_links_to_a_test_that_exists(name: str, file: str) -> None:
    """The test that a promise names stands in the file that it links to."""
    functions = {
        node.name
        for node in ast.walk(ast.parse((ROOT / file).read_text()))
        if isinstance(node, ast.FunctionDef)
    }
    assert f"test_{name}" in functions


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(([^)#:]+)\)", README))))
def test_a_link_leads_somewhere(link: str) -> None:
    """Every link into the repository leads to a file that is there."""
    assert (ROOT / link).exists()


def test_every_file_of_the_house_is_in_the_tree() -> None:
    """Each Python file of the core and of ops stands in the tree, and each file in the tree is there."""
    tree = README.partition("## The house")[2].partition("\n## ")[0]
    named = set(re.findall(r"^\| `([\w/.-]+\.\w+)` \|", tree, re.MULTILINE))
    there = {
        str(file.relative_to(ROOT))
        for folder in ("service", "migrations", "spark", "ops")
        for file in (ROOT / folder).rglob("*.py")
        if "__pycache__" not in file.parts and file.name != "__init__.py"
    }
    assert there - named == set()
    assert {name for name in named if not (ROOT / name).exists()} == set()
