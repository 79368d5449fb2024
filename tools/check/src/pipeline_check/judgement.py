"""What is said of one producer: its verdict, the configuration that becomes effective, and the findings."""

from dataclasses import dataclass, field, replace
from typing import Literal

from pipeline_check.finding import Finding
from pipeline_check.reading.block import Block

Verdict = Literal["idempotent", "not_idempotent", "refused", "depends"]


@dataclass(frozen=True)
class Judgement:
    """One producer, judged by its client's own rules."""

    block: Block
    client: str
    version: str  # which was judged: the one that was named, or the newest that we know
    verdict: Verdict
    effective: dict[str, str] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def without(self, ignored: set[Finding]) -> "Judgement":
        """The same with fewer findings; a verdict is not changed by looking away."""
        return replace(self, findings=[each for each in self.findings if each not in ignored])
