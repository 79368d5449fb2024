"""The core works with no extra, with each alone, and with all."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from contract.extras import FOLDER, manifests
from ops.settings import ROOT

EXTRAS = sorted(manifests("title"))
NOT_COPIED = (".*_cache", ".hypothesis", ".venv", ".run", ".git", "__pycache__", ".env")
CACHES = {"mypy": ROOT / ".run" / "extras-mypy"}

# What is kept of the extras: all of them is the repository itself, which `make test` tries anyway.
KEPT = [(), *((name,) for name in EXTRAS)]


def copy_with(folder: Path, kept: tuple[str, ...]) -> Path:
    """Return a copy of the repository with these extras alone."""
    copy = folder / "copy"
    ignored = shutil.ignore_patterns(*NOT_COPIED)
    shutil.copytree(ROOT, copy, ignore=ignored)
    for name in EXTRAS:
        if name not in kept:
            shutil.rmtree(copy / "extras" / name)
    for words in (["init", "-q"], ["add", "-A"]):  # some tests ask git which files there are
        subprocess.run(["git", *words], cwd=copy, check=True)
    return copy


def run(folder: Path, tool: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a tool of the environment in the copy, where the copy's own files are found first."""
    env = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    env["PYTHONPATH"] = str(folder)  # before what is installed
    command = [str(Path(sys.executable).parent / tool), *words]
    return subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, timeout=900, check=False
    )


def expect(folder: Path, tool: str, *words: str) -> str:
    """Run a tool and return what it said; it must find nothing."""
    done = run(folder, tool, *words)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def lint(folder: Path) -> None:
    """Try everything that `make lint` tries on what may be copied."""
    expect(folder, "ruff", "check", "--no-cache", "-q", "--extend-exclude", "tools")
    expect(folder, "mypy", "--cache-dir", str(CACHES["mypy"]))
    expect(folder, "lint-imports")


@pytest.mark.prove  # in `make test`, copies of tests/copy come without extras, too
@pytest.mark.parametrize("kept", KEPT, ids=lambda kept: "+".join(kept) or "none")
def test_with_these_extras_alone_nothing_is_missing(tmp_path: Path, kept: tuple[str, ...]) -> None:
    """Lint, types and import rules hold, every test is collected, and the unit tests pass."""
    copy = copy_with(tmp_path, kept)
    lint(copy)
    collected = expect(copy, "pytest", "--collect-only", "-q", "extras", "tests")
    files = {line.partition("::")[0] for line in collected.splitlines() if "::" in line}
    named = {file.split("/")[1] for file in files if file.startswith("extras/")}
    assert named <= set(kept)
    unit = [str(folder.relative_to(copy)) for folder in copy.glob("extras/*/tests/unit")]
    assert " passed" in expect(copy, "pytest", "-q", "tests/unit", *unit)


def test_what_is_imported_is_the_copy(tmp_path: Path) -> None:
    """Every module of ours that the unit tests import is the copy's, not an installed one."""
    copy = copy_with(tmp_path, ())
    plugin = copy / "own_files.py"
    plugin.write_text(OWN_FILES)
    expect(copy, "pytest", "-q", "-p", "own_files", "tests/unit/test_connect.py")
    imported = (copy / "imported").read_text().splitlines()
    assert len(imported) > 10
    assert [file for file in imported if not file.startswith(str(copy.resolve()))] == []


OWN_FILES = '''
import sys
from pathlib import Path

ROOMS = {"contract", "service", "connect", "migrations", "spark", "extras", "ops", "tests"}


def pytest_sessionfinish() -> None:
    """Record where each of our modules came from."""
    ours = [module for name, module in sys.modules.items() if name.partition(".")[0] in ROOMS]
    files = [module.__file__ for module in ours if getattr(module, "__file__", None)]
    (Path(__file__).parent / "imported").write_text("\\n".join(files))
'''


def test_control_a_core_that_needs_an_extra_is_found(tmp_path: Path) -> None:
    """An import of a deleted store in the core fails both the types and the import rules."""
    copy = copy_with(tmp_path, ())
    with (copy / "service" / "health.py").open("a") as file:
        file.write(f"\nfrom extras.{EXTRAS[-1]}.store import store as needed  # noqa: E402\n")
    types = run(copy, "mypy", "--cache-dir", str(CACHES["mypy"]))
    assert types.returncode == 1
    assert f"extras.{EXTRAS[-1]}.store" in types.stdout
    shutil.copytree(FOLDER / EXTRAS[-1], copy / "extras" / EXTRAS[-1])
    rules = run(copy, "lint-imports")
    assert rules.returncode == 1
    assert "nothing in the core needs an extra or ops BROKEN" in rules.stdout
