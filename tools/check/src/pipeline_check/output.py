"""What programs read of an audit: JSON, SARIF, metrics; and whether the audit fails."""

import json
import time
from collections import Counter
from collections.abc import Sequence
from importlib import metadata
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from pipeline_check.audit import Audit
from pipeline_check.rules.catalog import RULES
from pipeline_check.rules.edit import Edit, edits_of
from pipeline_check.rules.finding import LEVELS, Finding

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def print_as(form: str, audit: Audit, *, everything: bool = False) -> None:
    """Print an audit on standard output in the form that was asked for."""
    if form == "json":
        print(json.dumps(as_json(audit), indent=2))
    elif form == "sarif":
        print(json.dumps(as_sarif(audit), indent=2))
    elif form == "prometheus":
        print(as_prometheus(audit))
    elif form == "github":
        print(as_annotations(audit))
    else:
        print_for_people(audit, everything=everything)


def print_for_people(audit: Audit, *, everything: bool) -> None:
    """Print everything if it was asked for or fits on a screen; else an overview."""
    # Programs need none of these.
    from rich.console import Console  # noqa: PLC0415

    from pipeline_check.overview import fits, print_overview  # noqa: PLC0415
    from pipeline_check.table import print_lines, print_table, summary  # noqa: PLC0415

    console = Console(emoji=False)
    if everything or fits(audit):
        print_table(audit, console)
        return
    print_overview(audit, console)
    print_lines(f"\n{summary(audit)}", console)


def as_annotations(audit: Audit) -> str:
    """Return the commands by which GitHub writes a finding beside its line."""
    lines = []
    for found in audit.every():
        level = {"note": "notice"}.get(LEVELS[found.severity], LEVELS[found.severity])
        text = escaped(f"{found.message}\nfix: {found.fix}")
        file = escaped(found.file).replace(":", "%3A").replace(",", "%2C")
        lines.append(f"::{level} file={file},line={max(found.line, 1)},title={found.id}::{text}")
    return "\n".join(lines)


def escaped(text: str) -> str:
    """Return a text on one line, as GitHub's commands want it."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def as_json(audit: Audit) -> dict[str, Any]:
    """Return the shape that programs rely on."""
    producers = []
    for producer in audit.producers:
        shown = {
            "file": producer.block.file,
            "line": producer.block.line,
            "client": producer.client,
            "version": producer.version,
            "version_from": producer.version_from,
            "verdict": producer.verdict,
            "effective": producer.effective,
            "findings": [json_finding(found) for found in producer.findings],
        }
        producers.append(shown)
    return {
        "tool": "pipeline-check",
        "version": metadata.version("pipeline-check"),
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
        "link": found.link,
        "edits": [json_edit(edit) for edit in edits_of(found.fix)],
    }


def json_edit(edit: Edit) -> dict[str, Any]:
    """Return an edit for a program; line 0 means that the setting is new, behind `after`."""
    return {
        "file": edit.file,
        "line": edit.line,
        "after": edit.last_line,
        "key": edit.key,
        "value": edit.value,
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
    driver = {
        "name": "pipeline check",
        "version": metadata.version("pipeline-check"),
        "rules": rules,
    }
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
        "artifactLocation": {"uri": reference(found.file)},
        "region": {"startLine": max(found.line, 1)},
    }
    return {
        "ruleId": found.id,
        "level": LEVELS[found.severity],
        "message": {"text": f"{found.message}\nfix: {found.fix}"},
        "locations": [{"physicalLocation": place}],
    }


def reference(file: str) -> str:
    """Return a file's name as a reference of RFC 3986; an absolute one names its scheme."""
    if PurePath(file).is_absolute():
        return PurePath(file).as_uri()
    return quote(PurePath(file).as_posix(), safe="/")


def as_prometheus(audit: Audit) -> str:
    """Return an audit for Prometheus: how many findings of each rule, where, and when it looked."""
    counted = Counter((found.id, found.file, LEVELS[found.severity]) for found in audit.every())
    lines = [
        "# HELP pipeline_check_findings What pipeline check found; the rule says what.",
        "# TYPE pipeline_check_findings gauge",
    ]
    for (rule, place, severity), count in sorted(counted.items()):
        labels = {"rule": rule, "place": place, "severity": severity}
        # Escaped as JSON does it, which is how Prometheus does it too.
        shown = ",".join(
            f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in labels.items()
        )
        lines.append(f"pipeline_check_findings{{{shown}}} {count}")
    lines += [
        "# HELP pipeline_check_looked_seconds When it looked; long ago means that nobody looks.",
        "# TYPE pipeline_check_looked_seconds gauge",
        f"pipeline_check_looked_seconds {time.time():.0f}",
    ]
    return "\n".join(lines)


def failing(findings: Sequence[Finding], least: str) -> bool:
    """Return whether a finding is at least as bad as this; "never" is worse than all."""
    levels = [*LEVELS.values(), "never"]
    limit = levels.index(least)
    return any(levels.index(LEVELS[found.severity]) >= limit for found in findings)
