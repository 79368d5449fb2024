"""What could not be looked at: said in a finding, never passed over."""

from pipeline_check.rules.finding import Finding, Severity


def cannot_look(part: str, why: str, fix: str) -> Finding:
    """The part does not answer: nothing is known of it, so the whole check could not look (exit code 2)."""
    return Finding("cannot-look", Severity.ERROR, part, 0, f"not looked at: {part}: {why}", fix)


def not_looked_at(part: str, what: str, fix: str) -> Finding:
    """The part answers, but does not tell this to us."""
    return Finding("not-looked-at", Severity.NOTE, part, 0, f"not looked at: {what}", fix)
