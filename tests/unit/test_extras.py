"""What the manifests of extras say is there, and nothing names an extra that is not."""

import re
import subprocess
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from contract.extras import FOLDER, manifests
from ops.extra import extra_processes
from ops.settings import ROOT

EXTRAS = sorted(manifests("title"))
SECTIONS = {"title", "migrations", "topics", "connect", "acls", "stack", "dedup", "spark"}


def read_manifest(name: str) -> dict[str, Any]:
    """Return the whole manifest of an extra."""
    return tomllib.loads((FOLDER / name / "extra.toml").read_text())


@pytest.mark.parametrize("name", EXTRAS)
def test_a_manifest_has_sections_that_somebody_reads(name: str) -> None:
    """A section with a slip in its name would silently add nothing."""
    assert read_manifest(name).keys() <= SECTIONS
    assert (FOLDER / name / "README.md").exists()


@pytest.mark.parametrize("name", EXTRAS)
def test_what_a_manifest_names_is_there(name: str) -> None:
    """Modules can be found, folders of revisions hold some, and a pom is a file."""
    manifest = read_manifest(name)
    modules = [*manifest.get("dedup", {}).values(), *manifest.get("spark", {}).values()]
    assert [module for module in modules if find_spec(module) is None] == []
    for folder in manifest.get("migrations", {}).values():
        assert list((FOLDER / name / folder).glob("*.py"))
    process = extra_processes().get(name)
    if process:
        assert {process.switch, process.port} <= process.settings.keys()
        assert process.pom is None or (process.folder / process.pom).exists()
        assert find_spec(process.command[1])


@pytest.mark.parametrize("name", EXTRAS)
def test_a_revision_is_named_after_its_extra(name: str) -> None:
    """So that a database without the extra still knows whose revision it has."""
    files = sorted(FOLDER.glob(f"{name}/migrations/*.py"))
    out_before_the_rule = {("aggregator", "0002")}
    for file in files:
        [revision] = re.findall(r'^revision = "(\w+)"$', file.read_text(), re.MULTILINE)
        assert revision.startswith(f"{name}_") or (name, revision) in out_before_the_rule


def test_nothing_names_an_extra_that_is_not_here() -> None:
    """After an extra was deleted, the files that start or build something do not mention it."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    started = re.compile(r"Dockerfile$|^compose.*yaml$|^Makefile$|^pyproject.toml$|^.env|^.ci/run$")
    left_behind = []
    for name in filter(started.search, listed.stdout.split()):
        if not (ROOT / name).exists():
            continue
        named = re.findall(r"\bextras[/.]([a-z]\w*)", Path(ROOT, name).read_text())
        missing = [extra for extra in named if not (FOLDER / extra).exists()]
        left_behind += [f"{name}: extras/{extra}" for extra in missing]
    assert left_behind == []
