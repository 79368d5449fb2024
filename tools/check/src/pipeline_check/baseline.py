"""A baseline: what was found when the audit came to a repository, so that only what is new fails.

A finding is known again by its rule, its file and the text of its line, wherever that has moved to.
What is in the baseline and is not found any more is an error: it would hide the next one.
"""

import hashlib
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from pipeline_check.audit import Audit
from pipeline_check.ignores import BaselineError
from pipeline_check.rules.catalog import make_finding
from pipeline_check.rules.finding import Finding

HEAD = "# What pipeline check found before: a line goes when its finding is mended."


def fingerprint(found: Finding) -> str:
    """Return what stays the same of a finding when lines around it change."""
    text = line_text(found.file, found.line) or found.message
    content = "\0".join((found.id, found.file, text))
    return hashlib.sha256(content.encode("utf-8", errors="surrogateescape")).hexdigest()[:16]


@cache
def line_text(file: str, line: int) -> str:
    """Return the text of a line; nothing, if there is no such file."""
    try:
        lines = Path(file).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return lines[line - 1].strip() if 0 < line <= len(lines) else ""


def write_baseline(path: Path, findings: Sequence[Finding]) -> None:
    """Write a line for each finding."""
    lines = [f"{fingerprint(each)} {each.id} {each.file}\n" for each in findings]
    text = "".join([f"{HEAD}\n", *sorted(lines)])
    path.write_text(text, encoding="utf-8", errors="surrogateescape")


def read_baseline(path: Path) -> list[tuple[str, str, str]]:
    """Return fingerprint, rule and file of each line."""
    if not path.exists():
        raise BaselineError(f"{path} is not there: write it with --write-baseline {path}")
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        words = line.split(None, 2)
        if not words or line.startswith("#"):
            continue
        if len(words) != 3:
            raise BaselineError(f"{path} at line {number}: not a fingerprint, a rule and a file")
        found.append((words[0], words[1], words[2]))
    return found


def without_known(audit: Audit, path: Path) -> Audit:
    """Return an audit without what its baseline has, and with an error for each stale line."""
    lines = read_baseline(path)
    known = Counter(mark for mark, _, _ in lines)
    hidden = set()
    for each in audit.every():
        mark = fingerprint(each)
        if known[mark]:
            known[mark] -= 1
            hidden.add(each)
    stale = []
    for number, (mark, rule, file) in enumerate(lines, 1):
        if known[mark]:
            known[mark] -= 1
            says = f"{rule} in {file} is not found any more"
            fix = f"remove its line from {path}, or write it anew with --write-baseline"
            stale.append(make_finding("baseline-stale", str(path), number, says, fix))
    producers = [producer.without(hidden) for producer in audit.producers]
    kept = [each for each in audit.findings if each not in hidden]
    return Audit(audit.files, producers, [*kept, *stale], audit.ignored)
