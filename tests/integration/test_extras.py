"""What may be deleted is deleted, and the core does not notice."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from ops.settings import ROOT

EXTRAS: list[str] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pipeline"][
    "extras"
]
KEPT = {"__init__.py", "tracking.py"}


@pytest.fixture(scope="module")
def deleted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A copy of the repository without the extras and the lines of the README that name them; and their names."""
    copy = tmp_path_factory.mktemp("core") / "copy"
    shutil.copytree(
        ROOT,
        copy,
        ignore=shutil.ignore_patterns(".*cache*", ".venv", ".run", ".git", "__pycache__", ".env"),
    )
    found = sorted({file for pattern in EXTRAS for file in copy.glob(pattern)})
    gone = [str(file.relative_to(copy)) for file in found]
    for file in found:
        file.unlink()
    lines = (copy / "README.md").read_text().splitlines(keepends=True)
    (copy / "README.md").write_text(
        "".join(line for line in lines if not any(name in line for name in gone))
    )
    return copy, gone


def run(folder: Path, *module: str) -> str:
    """A module run on the copy alone, with what it said when it found nothing."""
    env = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, "-m", *module]
    done = subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def test_every_store_but_the_default_is_an_extra(deleted: tuple[Path, list[str]]) -> None:
    """Each pattern names something, and of the dedup stores one is left."""
    copy, _ = deleted
    assert [pattern for pattern in EXTRAS if not list(ROOT.glob(pattern))] == []
    assert {file.name for file in (copy / "service" / "dedup").glob("*.py")} == KEPT


def test_without_the_extras_the_types_hold(deleted: tuple[Path, list[str]]) -> None:
    """Mypy finds nothing in the service and in Spark's jobs: no file of the core needs what is gone."""
    copy, _ = deleted
    assert "Success" in run(copy, "mypy", "-p", "service", "-p", "spark")


def test_without_the_extras_the_unit_tests_pass(deleted: tuple[Path, list[str]]) -> None:
    """All of them, run on the copy and not on what is installed."""
    copy, gone = deleted
    where = "import service.dedup, pathlib; print(pathlib.Path(service.dedup.__file__).parents[2])"
    told = subprocess.run(
        [sys.executable, "-c", where], cwd=copy, capture_output=True, text=True, check=True
    )
    assert Path(told.stdout.strip()) == copy.resolve()
    assert " passed" in run(copy, "pytest", "-q", "tests/unit")
    assert gone, "nothing was deleted"


def test_control_a_core_that_needs_an_extra_is_found(
    deleted: tuple[Path, list[str]], tmp_path: Path
) -> None:
    """With an import of a deleted store in the core, the types do not hold."""
    copy, gone = deleted
    other = tmp_path / "copy"
    shutil.copytree(copy, other)
    store = next(name for name in gone if name.startswith("service/dedup/"))
    with (other / "service" / "health.py").open("a") as file:
        file.write(
            f"\nfrom {store.removesuffix('.py').replace('/', '.')} import store as needed  # noqa: E402\n"
        )
    with pytest.raises(AssertionError, match=r"import-not-found|Cannot find implementation"):
        run(other, "mypy", "-p", "service")
