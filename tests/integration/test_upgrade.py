"""A database, topics and a lake that version 0.1 filled are upgraded in place."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ops.settings import ROOT
from tests.integration.upgrade.scenario import FROZEN, NEW_ORDERS
from tests.reconciliation import all_matched
from tests.stacks import PORTS

LEFT_OUT = (".*cache*", ".venv", ".run", ".git", "__pycache__", ".env", "tools", "docs")


def run_scenario(tree: Path, run_dir: Path, ports: int) -> dict[str, Any]:
    """Run the scenario with the files of this tree, and return what it found."""
    env = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    words = ["-m", "tests.integration.upgrade.scenario", run_dir, ROOT / ".run" / "jars", ports]
    command = [sys.executable, *map(str, words)]
    done = subprocess.run(
        command, cwd=tree, env=env, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert found["root"] == str(tree.resolve())
    return found


def tracked_by_version_0_1() -> int:
    """Return how many messages the frozen tracking table has for the service."""
    lines = (FROZEN / "fulfillment.sql").read_text().splitlines()
    rows = [line for line in lines if line.startswith("INSERT INTO public.tracking VALUES")]
    return sum("'fulfillment'" in row for row in rows)


@pytest.mark.parametrize("left_out", [None, "aggregator"] if os.environ.get("PROVE") else [None])
def test_what_version_0_1_wrote_goes_on_and_reconciles(
    tmp_path: Path, left_out: str | None
) -> None:
    """Nothing that either version handled is lost or doubled, with and without the aggregator."""
    tree = ROOT
    if left_out:
        tree = tmp_path / "copy"
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*LEFT_OUT, left_out))
    found = run_scenario(tree, tmp_path / "run", PORTS + 200)
    assert found["tracked_before"] == tracked_by_version_0_1() > NEW_ORDERS / 2
    all_matched(found)
