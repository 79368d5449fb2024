"""A finding: what a check reports, in the same shape wherever it comes from."""

from dataclasses import dataclass
from enum import IntEnum


class Severity(IntEnum):
    """How bad a finding is; `--fail-on` names the lowest severity that fails."""

    NOTE = 1
    WARNING = 2
    ERROR = 3


LEVELS = {Severity.NOTE: "note", Severity.WARNING: "warning", Severity.ERROR: "error"}


@dataclass(frozen=True)
class Finding:
    """One thing that a user should know, with the way out."""

    id: str  # stable, in kebab case, and named in ignores: "producer-not-idempotent"
    severity: Severity
    file: str  # or the part that was asked: "postgres", "connect", "broker"
    line: int  # 0 where lines have no meaning
    message: str  # one sentence: what was asked, what becomes effective, and why it matters
    fix: str  # ready to paste
    link: str = ""  # where to read more
