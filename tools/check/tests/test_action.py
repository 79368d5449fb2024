"""The action for GitHub runs the command with options that it has."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ACTION: dict[str, Any] = yaml.safe_load(
    Path(__file__).parent.parent.joinpath("action.yml").read_text()
)


@pytest.mark.parametrize(("acks", "fail_on", "code"), [("1", "warning", 1), ("1", "never", 0)])
def test_its_last_step_shows_findings_and_fails_as_asked(
    tmp_path: Path, acks: str, fail_on: str, code: int
) -> None:
    """The script is run as the step would run it, with the inputs in its environment."""
    tmp_path.joinpath("producer.properties").write_text(
        f"bootstrap.servers=kafka:9092\nacks={acks}\n"
    )
    step = ACTION["runs"]["steps"][-1]
    assert step["env"] == {
        "PATHS": "${{ inputs.paths }}",
        "FAIL_ON": "${{ inputs.fail-on }}",
        "BASELINE": "${{ inputs.baseline }}",
    }
    env = {"PATHS": ".", "FAIL_ON": fail_on, "BASELINE": "", "PATH": path_with_command()}
    done = subprocess.run(
        ["bash", "-e", "-c", step["run"]],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert "::error file=producer.properties,line=2" in done.stdout


def path_with_command() -> str:
    """Return a PATH on which the command is."""
    return f"{Path(sys.executable).parent}:{os.environ['PATH']}"


def test_its_inputs_are_those_that_it_uses() -> None:
    """None is forgotten, and each has a default."""
    assert ACTION["inputs"].keys() == {"paths", "fail-on", "baseline"}
    assert all("default" in each for each in ACTION["inputs"].values())
