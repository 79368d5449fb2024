"""What there is to say about one producer, from its outcome: what was asked, what becomes effective, what to write."""

from collections.abc import Mapping
from typing import Any

from pipeline_check.clients.client import Client
from pipeline_check.clients.outcome import Outcome
from pipeline_check.finding import Finding
from pipeline_check.fixes import paste
from pipeline_check.producer_advice import advice
from pipeline_check.reading.block import Block
from pipeline_check.rules import finding
from pipeline_check.spelling import ON, line, remedy, shown


def findings(
    block: Block, client: Client, outcome: Outcome, asked: Mapping[str, Any]
) -> list[Finding]:
    """Everything, the worst first."""
    found = refused(block, outcome) or [*off(block, client, outcome, asked), *weak(block, outcome)]
    return found + advice(block, client, outcome, asked)


def depends(block: Block, names: list[str], sources: Mapping[str, str]) -> list[Finding]:
    """What has to be known before anything can be said."""
    by_source: dict[str, list[str]] = {}
    for name in names:
        by_source.setdefault(sources[name], []).append(shown(name))
    where = "; ".join(
        f"the value of {', '.join(several)} comes from {source}"
        for source, several in by_source.items()
    )
    return [
        finding(
            "producer-depends",
            block.file,
            block.line,
            f"the verdict depends: {where}",
            paste(block, ON),
        )
    ]


def refused(block: Block, outcome: Outcome) -> list[Finding]:
    """Why it does not start."""
    found = []
    for each in outcome.refusals:
        at, says = line(block, each.keys), f"refused at start, {each.says}"
        found.append(finding("producer-refused", block.file, at, says, remedy(block, each.keys[0])))
    return found


def off(block: Block, client: Client, outcome: Outcome, asked: Mapping[str, Any]) -> list[Finding]:
    """Not idempotent, and what made it so."""
    if outcome.idempotent:
        return []
    name = next(
        (name for name in asked if name.replace("_", ".").endswith("enable.idempotence")), ""
    )
    wanted = f"{shown(name)}={asked[name]}" if name else "enable.idempotence is not set"
    at = line(block, (name, outcome.culprit, "enable.idempotence"))
    says = f"asked: {wanted}; effective: not idempotent ({client.name}), because {outcome.because}{reordered(outcome)}"
    return [finding("producer-not-idempotent", block.file, at, says, paste(block, ON))]


def reordered(outcome: Outcome) -> str:
    """What else happens when several requests are under way and one is sent again."""
    counts = [
        text
        for name, text in outcome.effective.items()
        if name.replace("_", ".").startswith("max.in.flight")
    ]
    return (
        f", and with {counts[0]} requests under way it may overtake others"
        if counts and counts[0] != "1"
        else ""
    )


def weak(block: Block, outcome: Outcome) -> list[Finding]:
    """Acknowledged by fewer than all replicas."""
    acks = outcome.effective.get("acks", "all")
    says = f"acks={acks} becomes effective"
    at = line(block, ("acks",))
    return (
        []
        if acks == "all"
        else [finding("producer-acks-lost", block.file, at, says, paste(block, {"acks": "all"}))]
    )
