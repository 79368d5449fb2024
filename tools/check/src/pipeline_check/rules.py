"""Every rule of the audit under its stable id, and the findings that they make."""

from pipeline_check.finding import Finding
from pipeline_check.other_rules import OTHER_RULES
from pipeline_check.producer_rules import PRODUCER_RULES

RULES = PRODUCER_RULES | OTHER_RULES


def finding(rule: str, file: str, line: int, says: str, fix: str) -> Finding:
    """A finding of a rule: what was asked and becomes effective, then why it matters."""
    of = RULES[rule]
    return Finding(rule, of.severity, file, line, f"{says}: {of.why}", fix, of.link)
