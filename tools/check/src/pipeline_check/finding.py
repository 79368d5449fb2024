"""What a check has to say: one finding, in the same shape whoever found it."""

from dataclasses import dataclass
from enum import IntEnum


class Severity(IntEnum):
    """How bad it is; `--fail-on` names the lowest one that fails."""

    NOTE = 1
    WARNING = 2
    ERROR = 3


LEVELS = {Severity.NOTE: "note", Severity.WARNING: "warning", Severity.ERROR: "error"}


@dataclass(frozen=True)
class Finding:
    """One thing that should be known, with the way out."""

    id: str  # stable, kebab-case, said in ignores: "producer-not-idempotent"
    severity: Severity
    file: str  # or what was asked: "postgres", "connect", "broker"
    line: int  # 0 where lines have no meaning
    message: str  # what was asked, what becomes effective, and why it matters, in one sentence
    fix: str  # to paste
    link: str = ""  # where to read on
