"""What people and programs read of an audit: a table, JSON or SARIF; and whether it fails."""

import json
from collections.abc import Sequence
from typing import Any

from pipeline_check.audit import Audit
from pipeline_check.finding import LEVELS, Finding
from pipeline_check.sarif import as_sarif


def print_as(form: str, audit: Audit) -> None:
    """Everything, in the form that was asked for, on standard output."""
    if form == "table":
        from rich.console import Console  # noqa: PLC0415 - programs do not need it

        from pipeline_check.table import print_table  # noqa: PLC0415 - the same

        print_table(audit, Console(emoji=False))
    else:
        print(json.dumps(as_json(audit) if form == "json" else as_sarif(audit), indent=2))


def as_json(audit: Audit) -> dict[str, Any]:
    """The shape that programs rely on."""
    producers = [
        {
            "file": each.block.file,
            "line": each.block.line,
            "client": each.client,
            "verdict": each.verdict,
            "effective": each.effective,
            "findings": [shown(found) for found in each.findings],
        }
        for each in audit.producers
    ]
    return {"producers": producers, "findings": [shown(found) for found in audit.findings]}


def shown(found: Finding) -> dict[str, Any]:
    """One finding for a program."""
    return {
        "id": found.id,
        "severity": LEVELS[found.severity],
        "file": found.file,
        "line": found.line,
        "message": found.message,
        "fix": found.fix,
    }


def failing(findings: Sequence[Finding], least: str) -> bool:
    """Whether there is one at least as bad as this; "never" is worse than all."""
    levels = [*LEVELS.values(), "never"]
    return any(levels.index(LEVELS[found.severity]) >= levels.index(least) for found in findings)
