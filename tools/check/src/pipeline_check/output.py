"""What programs read of an audit: JSON and SARIF; and whether the audit fails."""

import json
from collections.abc import Sequence
from typing import Any

from pipeline_check.audit import Audit
from pipeline_check.rules.catalog import RULES
from pipeline_check.rules.finding import LEVELS, Finding

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def print_as(form: str, audit: Audit) -> None:
    """Print an audit on standard output in the form that was asked for."""
    if form == "json":
        print(json.dumps(as_json(audit), indent=2))
    elif form == "sarif":
        print(json.dumps(as_sarif(audit), indent=2))
    else:
        from rich.console import Console  # noqa: PLC0415 - programs do not need it

        from pipeline_check.table import print_table  # noqa: PLC0415 - the same

        print_table(audit, Console(emoji=False))


def as_json(audit: Audit) -> dict[str, Any]:
    """Return the shape that programs rely on."""
    producers = []
    for producer in audit.producers:
        shown = {
            "file": producer.block.file,
            "line": producer.block.line,
            "client": producer.client,
            "verdict": producer.verdict,
            "effective": producer.effective,
            "findings": [json_finding(found) for found in producer.findings],
        }
        producers.append(shown)
    return {
        "producers": producers,
        "findings": [json_finding(found) for found in audit.findings],
    }


def json_finding(found: Finding) -> dict[str, Any]:
    """Return one finding for a program."""
    return {
        "id": found.id,
        "severity": LEVELS[found.severity],
        "file": found.file,
        "line": found.line,
        "message": found.message,
        "fix": found.fix,
    }


def as_sarif(audit: Audit) -> dict[str, Any]:
    """Return an audit for code scanning; what is ignored is in it, suppressed with its reason."""
    results = [sarif_result(found) for found in audit.every()]
    for found, ignore in audit.ignored.items():
        suppression = {
            "kind": "inSource" if ignore.line else "external",
            "justification": ignore.reason,
        }
        results.append(sarif_result(found) | {"suppressions": [suppression]})
    rules = [sarif_rule(name) for name in sorted({each["ruleId"] for each in results})]
    driver = {"name": "pipeline check", "rules": rules}
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }


def sarif_rule(name: str) -> dict[str, Any]:
    """Return what code scanning shows of a rule."""
    rule = RULES.get(name)
    if not rule:
        return {"id": name, "shortDescription": {"text": name}}
    return {
        "id": name,
        "shortDescription": {"text": rule.why},
        "helpUri": rule.link,
    }


def sarif_result(found: Finding) -> dict[str, Any]:
    """Return one finding for code scanning."""
    place = {
        "artifactLocation": {"uri": found.file},
        "region": {"startLine": max(found.line, 1)},
    }
    return {
        "ruleId": found.id,
        "level": LEVELS[found.severity],
        "message": {"text": f"{found.message}\nfix: {found.fix}"},
        "locations": [{"physicalLocation": place}],
    }


def failing(findings: Sequence[Finding], least: str) -> bool:
    """Return whether a finding is at least as bad as this; "never" is worse than all."""
    levels = [*LEVELS.values(), "never"]
    limit = levels.index(least)
    return any(levels.index(LEVELS[found.severity]) >= limit for found in findings)
