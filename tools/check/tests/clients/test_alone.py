"""The auditor runs by itself: it needs its own few dependencies and no other part."""

import json
import re
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from importlib import metadata
from pathlib import Path

from tests.clients.corpus import CORPUS

HERE = Path(__file__).parent.parent.parent
PROJECT = tomllib.loads((HERE / "pyproject.toml").read_text())
QUICK = 1.0  # seconds for the imports of the command; a fifth of that on an idle machine
PROGRAM = f"""
import json, sys, time
before = set(sys.modules)
started = time.monotonic()
from pipeline_check.command import app
took = time.monotonic() - started
try:
    app([{str(CORPUS)!r}, "--json"])
except SystemExit as end:
    names = sorted({{name.partition(".")[0] for name in set(sys.modules) - before}})
    print(json.dumps([end.code, took, names]), file=sys.stderr)
"""


def closure(requirements: list[str]) -> set[str]:
    """These distributions and all that they need here, extras and other platforms apart."""
    found: set[str] = set()
    waiting = [normal(each) for each in requirements]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [normal(each) for each in metadata.requires(name) or [] if ";" not in each]
    return found


def normal(requirement: str) -> str:
    """The name of a requirement, as it is compared."""
    return re.sub(r"[-_.]+", "-", re.split(r"[\s<>=!~;\[(]", requirement, maxsplit=1)[0]).lower()


def test_the_audit_needs_only_its_base_dependencies() -> None:
    """Auditing the whole corpus imports nothing else, but the grammars for its sources, and soon.

    Without those, a note says what to install: see test_sources.py.
    """
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=120
    )
    code, took, modules = json.loads(run.stderr)
    owners = metadata.packages_distributions()
    imported = {normal(owner) for module in modules for owner in owners.get(module, [])}
    project = PROJECT["project"]
    allowed = [*project["dependencies"], *project["optional-dependencies"]["sources"]]
    assert imported - closure(allowed) - {"pipeline-check"} == set()
    assert "pyyaml" in imported, "the corpus was not read"
    assert code == 1
    assert took < QUICK


def test_nothing_of_the_pipeline_is_imported() -> None:
    """Neither the code nor its tests import another part of the template."""
    others = re.compile(
        r"^\s*(?:from|import) (contract|service|connect|migrations|spark|extras|ops|lab|tools)\b",
        re.MULTILINE,
    )
    sources = [
        *(HERE / "src").rglob("*.py"),
        *HERE.glob("tests/*.py"),
        *HERE.glob("tests/clients/*.py"),
    ]
    assert len(sources) > 50
    assert [str(file) for file in sources if others.search(file.read_text())] == []


def test_the_lists_of_settings_are_packaged() -> None:
    """What the rules read at run time is named as package data, so an installed copy has it."""
    patterns = PROJECT["tool"]["setuptools"]["package-data"]["pipeline_check"]
    lists = list((HERE / "src" / "pipeline_check" / "clients").glob("*.tsv"))
    assert lists
    for file in lists:
        assert any(fnmatch(f"clients/{file.name}", pattern) for pattern in patterns)
