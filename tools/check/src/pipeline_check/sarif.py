"""The audit as SARIF, for code scanning."""

from typing import Any

from pipeline_check.audit import Audit
from pipeline_check.finding import LEVELS, Finding
from pipeline_check.rules import RULES

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def as_sarif(audit: Audit) -> dict[str, Any]:
    """For code scanning; what is ignored is there, too, and suppressed with its reason."""
    results = [result(found) for found in audit.every()]
    for found, ignore in audit.ignored.items():
        kind = "inSource" if ignore.line else "external"
        results.append(
            result(found) | {"suppressions": [{"kind": kind, "justification": ignore.reason}]}
        )
    used = sorted({each["ruleId"] for each in results})
    rules = [
        {"id": name, "shortDescription": {"text": RULES[name].why if name in RULES else name}}
        | ({"helpUri": RULES[name].link} if name in RULES else {})
        for name in used
    ]
    driver = {"name": "pipeline check", "rules": rules}
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }


def result(found: Finding) -> dict[str, Any]:
    """One finding for code scanning."""
    place = {"artifactLocation": {"uri": found.file}, "region": {"startLine": max(found.line, 1)}}
    return {
        "ruleId": found.id,
        "level": LEVELS[found.severity],
        "message": {"text": f"{found.message}\nfix: {found.fix}"},
        "locations": [{"physicalLocation": place}],
    }
