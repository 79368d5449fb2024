"""What there is to say of a producer beside its verdict: patience, silent changes, slips of the pen, versions."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from pipeline_check.clients.client import Client
from pipeline_check.clients.outcome import Outcome
from pipeline_check.clients.table import keys
from pipeline_check.finding import Finding
from pipeline_check.fixes import paste
from pipeline_check.reading.block import Block
from pipeline_check.rules import finding
from pipeline_check.spelling import ON, line, same, shown, variants

SHORTEST_PATIENCE = 30_000  # ms: electing a new leader and finding it takes seconds, a broker's restart half a minute
FEWEST_RETRIES = 10  # with the default back-off these are gone within the same time


def advice(
    block: Block, client: Client, outcome: Outcome, asked: Mapping[str, Any]
) -> list[Finding]:
    """All of it; what other versions do is of no interest while this one does not start."""
    found = [*stuck(block, outcome), *impatient(block, outcome, asked), *defaults(block, client)]
    found += [*changed(block, outcome), *misspelt(block, outcome)]
    return found if outcome.refusals else [*found, *by_version(block, client, outcome, asked)]


def impatient(block: Block, outcome: Outcome, asked: Mapping[str, Any]) -> list[Finding]:
    """A producer that stops trying before an ordinary outage is over."""
    found = []
    limits = {
        "delivery.timeout.ms": (SHORTEST_PATIENCE, "120000"),
        "retries": (FEWEST_RETRIES, "2147483647"),
    }
    for name, (least, better) in limits.items():
        spelt = name if name in outcome.effective else name.replace(".", "_")
        value = outcome.effective.get(spelt, "")
        written = [each for each in variants(name) if each in asked]
        if written and value.isdigit() and 0 < int(value) < least:
            says = f"it gives up after {spelt}={value}"
            fix = paste(block, {name: better})
            found.append(
                finding("producer-gives-up", block.file, line(block, tuple(written)), says, fix)
            )
    return found


def stuck(block: Block, outcome: Outcome) -> list[Finding]:
    """A producer that starts and delivers nothing."""
    if not outcome.never_sends:
        return []
    at, fix = line(block, ("linger.ms",)), paste(block, {"linger.ms": "5"})
    return [finding("producer-never-sends", block.file, at, outcome.never_sends, fix)]


def defaults(block: Block, client: Client) -> list[Finding]:
    """Deciding values that may be replaced from outside."""
    names = [name for name in client.deciding for each in same(name) if each in block.settings]
    written = {
        each: block.settings[each]
        for name in names
        for each in same(name)
        if each in block.settings
    }
    said = [
        f"{shown(name)}={each.text} comes from {each.source}"
        for name, each in written.items()
        if each.source and each.known
    ]
    if not said:
        return []
    fix = f"fix the value here, or audit with the one that is set there: {paste(block, ON)}"
    return [finding("producer-default-judged", block.file, block.line, "; ".join(said), fix)]


def changed(block: Block, outcome: Outcome) -> list[Finding]:
    """What the client changes without an error."""
    if not outcome.changes or outcome.refusals:
        return []
    says = "; ".join(each.says for each in outcome.changes)
    at = line(block, tuple(key for each in outcome.changes for key in each.keys))
    return [
        finding(
            "setting-changed-silently",
            block.file,
            at,
            says,
            paste(block, outcome.effective_of_changes()),
        )
    ]


def misspelt(block: Block, outcome: Outcome) -> list[Finding]:
    """Names that the client ignores, and that look like ones that it has."""
    found = []
    for name in outcome.unknown:
        close = get_close_matches(name, keys("java"), 1, cutoff=0.9)
        if close and close[0] not in block.settings:
            says, fix = (
                f"{name} is no setting of the client",
                paste(block, {close[0]: block.settings[name].text}),
            )
            found.append(finding("setting-misspelt", block.file, block.line_of(name), says, fix))
    return found


def by_version(
    block: Block, client: Client, outcome: Outcome, asked: Mapping[str, Any]
) -> list[Finding]:
    """What other versions of the client would make of the same settings."""
    others = {
        ".".join(map(str, version)): client.judge(asked, version).verdict
        for version in client.others
    }
    different = [
        f"{told.replace('_', ' ')} in {name}"
        for name, told in others.items()
        if told != outcome.verdict
    ]
    if not different:
        return []
    assumed = ".".join(map(str, client.version))
    says = f"judged as version {assumed}, which is assumed; it would be {', '.join(different)}"
    return [finding("producer-depends-on-version", block.file, block.line, says, paste(block, ON))]
