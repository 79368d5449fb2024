"""The run of the audit that the README shows is what the audit prints."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pipeline_check.command import app

HERE = Path(__file__).parent.parent
SHOWN = re.compile(
    r"```sh\ncd (\S+)\npipeline-check ([^\n]+)\n```\n\n```text\n(.+?)\n```", re.DOTALL
)


def test_the_run_in_the_readme_is_what_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The run is shown word for word: the README claims no verdict that the audit does not give."""
    shown = SHOWN.search((HERE / "README.md").read_text())
    assert shown, "the README shows no run of the audit"
    monkeypatch.chdir(HERE / shown[1])
    assert CliRunner().invoke(app, shown[2].split()).stdout.rstrip() == shown[3]
