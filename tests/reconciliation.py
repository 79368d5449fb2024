"""A reconciliation as a user runs it: land what is there, compare id by id, and say what was found."""

import json
import subprocess
import sys
from typing import Any

from ops.stack.stack import Stack


def reconcile(stack: Stack, *words: str) -> dict[str, Any]:
    """The run's result; a run that could not look fails with what it said."""
    command = [sys.executable, "-m", "spark.reconcile", "--land", "--json", *words]
    done = subprocess.run(command, env=stack.env(), capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode in (0, 1), f"exit {done.returncode}: {done.stderr[-3000:]}"
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert result["ok"] == (done.returncode == 0)
    return result


def assert_reconciled(stack: Stack) -> dict[str, Any]:
    """Nothing lost, nothing doubled, nothing different, in all that this stack has ever handled."""
    result = reconcile(stack)
    assert result["findings"] == []
    assert result["verdict"] == "verdict: nothing lost, nothing doubled"
    return result
