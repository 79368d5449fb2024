"""Findings that a user decided to live with: in a comment or in a file, always with a reason."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from pipeline_check.rules.catalog import make_finding
from pipeline_check.rules.finding import Finding

FILE = ".pipeline-check-ignore"
COMMENT = re.compile(r"(?:#|//|<!--|;)\s*check: ignore\[([\w-]+)\]\s*(.*?)\s*(?:-->)?$")


class BaselineError(Exception):
    """A baseline that cannot be read."""


@dataclass(frozen=True)
class Ignore:
    """One rule that is ignored in one place, and why."""

    rule: str  # or * to leave whole files out
    files: str  # a pattern
    line: int  # the line that it is for, with the line below; 0 for all lines
    reason: str
    written_at: tuple[str, int]  # file and line of the ignore itself

    def covers(self, found: Finding) -> bool:
        """Return whether it is for this finding; without a reason it is for none."""
        if not self.reason or found.id != self.rule:
            return False
        near = self.line == 0 or found.line in (self.line, self.line + 1)
        return near and fnmatch(found.file, self.files)


def is_left_out(file: str, ignores: Iterable[Ignore]) -> bool:
    """Return whether a line of the ignore file with * for the rule leaves this file out."""
    return any(each.rule == "*" and each.reason and fnmatch(file, each.files) for each in ignores)


def read_comments(file: str, text: str) -> list[Ignore]:
    """Return the ignores in comments; each is for its own line and the next."""
    found: list[Ignore] = []
    if "check: ignore[" not in text:
        return found
    for number, line in enumerate(text.splitlines(), 1):
        comment = COMMENT.search(line)
        if comment:
            rule, reason = comment.groups()
            found.append(Ignore(rule, file, number, reason, (file, number)))
    return found


def read_ignore_file(path: Path) -> list[Ignore]:
    """Return the ignores of the ignore file: a rule, a pattern of files, and the reason."""
    found: list[Ignore] = []
    if not path.exists():
        return found
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        words = line.split(None, 2)
        if words and not line.startswith("#"):
            rule, pattern, reason = (*words, "", "")[:3]
            found.append(Ignore(rule, pattern, 0, reason, (str(path), number)))
    return found


def apply_ignores(findings: Sequence[Finding], ignores: Sequence[Ignore]) -> dict[Finding, Ignore]:
    """Return the findings that are ignored, each with its ignore."""
    return {found: ignore for found in findings for ignore in ignores if ignore.covers(found)}


def find_useless(
    ignores: Iterable[Ignore], used: Iterable[Ignore], files: Sequence[str]
) -> list[Finding]:
    """Report ignores without a reason, and those that cover no finding any more."""
    found = []
    needed = set(used)
    for ignore in ignores:
        file, line = ignore.written_at
        if not ignore.reason:
            says = f"{ignore.rule} is to be ignored"
            fix = f"{as_written(ignore)} and the reason"
            found.append(make_finding("ignore-without-reason", file, line, says, fix))
        elif ignore not in needed and ignore.rule != "*":
            looked_at = any(fnmatch(name, ignore.files) for name in files)
            if looked_at:
                says = f"{ignore.rule} is not found here"
                found.append(make_finding("ignore-unused", file, line, says, "remove the line"))
    return found


def as_written(ignore: Ignore) -> str:
    """Return an ignore as it is written, without its reason."""
    if ignore.line:
        return f"check: ignore[{ignore.rule}]"
    return f"{ignore.rule} {ignore.files}"
