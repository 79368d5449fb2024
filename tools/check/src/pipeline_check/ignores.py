"""Findings that somebody has decided to live with: in the line or in a file, and always with a reason."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from pipeline_check.finding import Finding
from pipeline_check.rules import finding

FILE = ".pipeline-check-ignore"
INLINE = re.compile(r"(?:#|//|<!--|;)\s*check: ignore\[([\w-]+)\]\s*(.*?)\s*(?:-->)?$")


@dataclass(frozen=True)
class Ignore:
    """One rule that is looked away from, in one place, and why."""

    rule: str
    files: str  # a pattern
    line: int  # the line it is for and the one below; 0 for all
    reason: str
    stands: tuple[str, int]  # where it is written

    def covers(self, found: Finding) -> bool:
        """Whether it is meant; without a reason nothing is."""
        near = not self.line or found.line in (self.line, self.line + 1)
        return (
            bool(self.reason) and found.id == self.rule and near and fnmatch(found.file, self.files)
        )


def left_out(file: str, ignores: Iterable[Ignore]) -> bool:
    """Whether a file is not looked at at all: a line of the ignore file with * for the id."""
    return any(each.rule == "*" and each.reason and fnmatch(file, each.files) for each in ignores)


def inline(file: str, text: str) -> list[Ignore]:
    """Those in comments: for their own line, and for the next."""
    if "check: ignore[" not in text:
        return []
    matches = ((number, INLINE.search(line)) for number, line in enumerate(text.splitlines(), 1))
    return [
        Ignore(match[1], file, number, match[2], (file, number))
        for number, match in matches
        if match
    ]


def from_file(path: Path) -> list[Ignore]:
    """Those in the ignore file: an id, a pattern of files, and the reason."""
    found = []
    for number, line in enumerate(
        path.read_text(encoding="utf-8").splitlines() if path.exists() else [], 1
    ):
        words = line.split(None, 2)
        if words and not line.startswith("#"):
            rule, pattern, reason = (*words, "", "")[:3]
            found.append(Ignore(rule, pattern, 0, reason, (str(path), number)))
    return found


def apply(findings: Sequence[Finding], ignores: Sequence[Ignore]) -> dict[Finding, Ignore]:
    """The findings that are ignored, and by what."""
    return {found: ignore for found in findings for ignore in ignores if ignore.covers(found)}


def complaints(
    ignores: Iterable[Ignore], used: Iterable[Ignore], looked_at: Sequence[str]
) -> list[Finding]:
    """Ignores without a reason, and those that hide nothing any more."""
    found, needed = [], set(used)
    for ignore in ignores:
        file, line = ignore.stands
        if not ignore.reason:
            before = (
                f"check: ignore[{ignore.rule}]" if ignore.line else f"{ignore.rule} {ignore.files}"
            )
            fix = f"{before} and the reason"
            found.append(
                finding("ignore-without-reason", file, line, f"{ignore.rule} is to be ignored", fix)
            )
        elif (
            ignore not in needed
            and ignore.rule != "*"
            and any(fnmatch(name, ignore.files) for name in looked_at)
        ):
            found.append(
                finding(
                    "ignore-unused",
                    file,
                    line,
                    f"{ignore.rule} is not found here",
                    "remove the line",
                )
            )
    return found
