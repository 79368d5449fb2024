"""The audit can be installed and run by itself: it takes the base dependencies, and nothing of the other parts."""

import json
import re
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from importlib import metadata

from ops.settings import ROOT
from tests.clients.corpus import CORPUS

QUICK = 1.0  # seconds for the imports of the command; a fifth of that on an idle machine
PROGRAM = f"""
import json, sys, time
before = set(sys.modules)
started = time.monotonic()
from ops.cli import app
took = time.monotonic() - started
try:
    app(["check", {str(CORPUS)!r}, "--json"])
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


def test_the_audit_needs_only_the_base_dependencies() -> None:
    """Whatever is imported while the whole corpus is audited is of the base dependencies, and it starts at once."""
    base = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=120
    )
    code, took, modules = json.loads(run.stderr)
    owners = metadata.packages_distributions()
    imported = {normal(owner) for module in modules for owner in owners.get(module, [])}
    assert imported - closure(base) - {"outbox-pipeline"} == set()
    assert "pyyaml" in imported, "the corpus was not read"
    assert code == 1
    assert took < QUICK


def test_the_lists_of_settings_are_packaged() -> None:
    """What the rules read at run time is named as package data, so an installed copy has it."""
    data = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"][
        "package-data"
    ]["ops"]
    lists = list((ROOT / "tools/check/src/pipeline_check/clients").glob("*.tsv"))
    assert lists
    assert all(
        any(fnmatch(f"check/clients/{file.name}", pattern) for pattern in data) for file in lists
    )
