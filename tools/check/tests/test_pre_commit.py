"""The script that pre-commit starts installs the auditor, and only the auditor, once."""

import os
import subprocess
from pathlib import Path

import yaml

SCRIPT = Path(__file__).parent.parent / "pre-commit"
HOOKS = Path(__file__).parents[3] / ".pre-commit-hooks.yaml"


def start(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the hook's script on one file that has a fault."""
    return subprocess.run(
        [str(SCRIPT), "producer.properties"],
        cwd=folder,
        env=os.environ | {"XDG_CACHE_HOME": str(folder / "cache")},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_the_hook_installs_the_auditor_once_and_nothing_else(tmp_path: Path) -> None:
    """The first run installs and audits, the second only audits; no other part is installed."""
    (tmp_path / "producer.properties").write_text("bootstrap.servers=kafka:9092\nacks=1\n")
    first = start(tmp_path)
    assert "installing once" in first.stderr
    assert first.returncode == 1, first.stderr
    assert "producer-not-idempotent" in first.stdout
    second = start(tmp_path)
    assert (second.returncode, second.stdout, second.stderr) == (1, first.stdout, "")
    installed = {found.name for found in tmp_path.glob("cache/pipeline-check/*/lib/*/*-packages/*")}
    assert "pipeline_check" in installed
    assert installed & {"contract", "service", "connect", "migrations", "spark", "ops"} == set()


def test_the_hook_looks_at_the_whole_repository() -> None:
    """Single files would be judged without their worker and without their build."""
    [hook] = yaml.safe_load(HOOKS.read_text())
    assert hook["args"] == ["."]
    assert hook["pass_filenames"] is False
