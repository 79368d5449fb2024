"""The lab's commands as a user finds them: on `pipeline`, with help, and on the lab's own page."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ops.cli import app

LAB = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((LAB / "pyproject.toml").read_text())["project"]
COMMANDS = PROJECT["entry-points"]["pipeline.commands"]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_says_what_it_does_and_what_its_exit_codes_mean(command: str) -> None:
    """Each is a command of `pipeline`, can print JSON, and names the codes 0, 1 and 2."""
    shown = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "120"})
    assert shown.exit_code == 0
    assert "--json" in shown.output
    sentence = " ".join(shown.output.split())
    for code in ("Exit 0 if", " 1 if ", " 2 if "):
        assert code in sentence


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_on_the_page_of_the_lab(command: str) -> None:
    """With what it measures, how long it takes, and where its result is."""
    page = (LAB / "README.md").read_text()
    [*rows] = [line for line in page.splitlines() if line.startswith(f"| `pipeline {command}")]
    assert rows
    for row in rows:
        assert all(cell.strip() for cell in row.replace(r"\|", "/").strip("|").split("|"))
