"""The budgets among the files of an audit: every pyproject.toml that states its intent."""

from collections.abc import Iterable
from pathlib import Path

from pipeline_check.budget.command import judge
from pipeline_check.budget.intent import IntentError
from pipeline_check.finding import Finding
from pipeline_check.rules import finding

TABLE = "[tool.pipeline.budget]"


def budgets(files: Iterable[str]) -> Iterable[Finding]:
    """The findings of every intent; one that cannot be read is a finding, too."""
    for file in map(Path, files):
        if file.name == "pyproject.toml" and TABLE in file.read_text(
            encoding="utf-8", errors="replace"
        ):
            try:
                yield from judge(file)[1]
            except IntentError as broken:
                yield finding("cannot-read", str(file), 1, str(broken), f"mend {TABLE}")
