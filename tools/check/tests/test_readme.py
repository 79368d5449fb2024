"""The run of the audit that the README shows is what the audit prints."""

import re

import pytest
from typer.testing import CliRunner

from ops.cli import app
from ops.settings import ROOT

SHOWN = re.compile(
    r"```sh\ncd (\S+) && pipeline (check [^\n]+)\n```\n\n```text\n(.+?)\n```", re.DOTALL
)


def test_the_run_in_the_readme_is_what_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Word for word, so that nobody reads of a verdict that the audit would not give."""
    shown = SHOWN.search((ROOT / "README.md").read_text())
    assert shown, "the README shows no run of the audit"
    monkeypatch.chdir(ROOT / shown[1])
    assert CliRunner().invoke(app, shown[2].split()).stdout.rstrip() == shown[3]
