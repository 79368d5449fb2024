"""A rule: what is the same for all findings of one id."""

from dataclasses import dataclass

from pipeline_check.finding import Severity

NOTE, WARNING, ERROR = Severity.NOTE, Severity.WARNING, Severity.ERROR
KAFKA = "https://kafka.apache.org/documentation/"
LIBRDKAFKA = "https://github.com/confluentinc/librdkafka/blob/master/INTRODUCTION.md"


@dataclass(frozen=True)
class Rule:
    """How bad it is, why it matters, and where to read on."""

    severity: Severity
    why: str
    link: str = KAFKA
