"""Findings for what could not be looked at; it is never passed over in silence."""

from pipeline_check.rules.finding import Finding, Severity


def cannot_look(part: str, why: str, fix: str) -> Finding:
    """Report a part that does not answer: nothing is known of it, and the exit code is 2."""
    message = f"not looked at: {part}: {why}"
    return Finding("cannot-look", Severity.ERROR, part, 0, message, fix)


def not_looked_at(part: str, what: str, fix: str) -> Finding:
    """Report something that a part does not let us see."""
    return Finding("not-looked-at", Severity.NOTE, part, 0, f"not looked at: {what}", fix)
