"""What there is to say about one producer, from its outcome: what was asked, what becomes effective, what to write."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from ops.check.clients.client import Client
from ops.check.clients.outcome import Outcome
from ops.check.clients.table import keys
from ops.check.finding import Finding
from ops.check.fixes import paste
from ops.check.reading.block import Block
from ops.check.rules import finding

ON = {"enable.idempotence": "true", "acks": "all"}
SHORTEST_PATIENCE = 30_000  # ms: electing a new leader and finding it takes seconds, a broker's restart half a minute
FEWEST_RETRIES = 10  # with the default back-off these are gone within the same time
GOOD = ON | {"retries": "2147483647", "max.in.flight.requests.per.connection": "5", "delivery.timeout.ms": "120000"}
SYNONYMS = [
    ("enable.idempotence", "enable_idempotence"),
    ("acks", "request.required.acks"),
    ("retries", "message.send.max.retries"),
    ("delivery.timeout.ms", "message.timeout.ms", "delivery_timeout_ms"),
    ("linger.ms", "queue.buffering.max.ms", "linger_ms"),
    ("max.in.flight.requests.per.connection", "max.in.flight", "max_in_flight_requests_per_connection"),
]


def findings(block: Block, client: Client, outcome: Outcome, asked: Mapping[str, Any]) -> list[Finding]:
    """Everything, the worst first."""
    found = refused(block, outcome) or [*off(block, client, outcome, asked), *weak(block, outcome)]
    found += [
        *stuck(block, outcome),
        *impatient(block, outcome, asked),
        *changed(block, outcome),
        *misspelt(block, outcome),
    ]
    return found + (by_version(block, client, outcome, asked) if not outcome.refusals else [])


def depends(block: Block, names: list[str], sources: Mapping[str, str]) -> list[Finding]:
    """What has to be known before anything can be said."""
    by_source: dict[str, list[str]] = {}
    for name in names:
        by_source.setdefault(sources[name], []).append(shown(name))
    where = "; ".join(f"the value of {', '.join(several)} comes from {source}" for source, several in by_source.items())
    return [finding("producer-depends", block.file, block.line, f"the verdict depends: {where}", paste(block, ON))]


def refused(block: Block, outcome: Outcome) -> list[Finding]:
    """Why it does not start."""
    found = []
    for each in outcome.refusals:
        at, says = line(block, each.keys), f"refused at start, {each.says}"
        found.append(finding("producer-refused", block.file, at, says, remedy(block, each.keys[0])))
    return found


def remedy(block: Block, name: str) -> str:
    """What to write instead of a setting that was refused."""
    known = next((group[0] for group in SYNONYMS if name in group), name)
    if known in GOOD:
        return paste(block, {known: GOOD[known]})
    listed = keys("librdkafka" if block.client == "librdkafka" else "java")
    if known in listed and listed[known].default:
        return paste(block, {known: listed[known].default})
    close = get_close_matches(name, listed, 1)
    return f"remove {name}" + (f", or say {close[0]}" if close and close[0] not in block.settings else "")


def off(block: Block, client: Client, outcome: Outcome, asked: Mapping[str, Any]) -> list[Finding]:
    """Not idempotent, and what made it so."""
    if outcome.idempotent:
        return []
    name = next((name for name in asked if name.replace("_", ".").endswith("enable.idempotence")), "")
    wanted = f"{shown(name)}={asked[name]}" if name else "enable.idempotence is not set"
    at = line(block, (name, outcome.culprit, "enable.idempotence"))
    says = f"asked: {wanted}; effective: not idempotent ({client.name}), because {outcome.because}"
    return [finding("producer-not-idempotent", block.file, at, says, paste(block, ON))]


def weak(block: Block, outcome: Outcome) -> list[Finding]:
    """Acknowledged by fewer than all replicas."""
    acks = outcome.effective.get("acks", "all")
    says = f"acks={acks} becomes effective"
    at = line(block, ("acks",))
    return [] if acks == "all" else [finding("producer-acks-lost", block.file, at, says, paste(block, {"acks": "all"}))]


def impatient(block: Block, outcome: Outcome, asked: Mapping[str, Any]) -> list[Finding]:
    """A producer that stops trying before an ordinary outage is over."""
    found = []
    limits = {"delivery.timeout.ms": (SHORTEST_PATIENCE, "120000"), "retries": (FEWEST_RETRIES, "2147483647")}
    for name, (least, better) in limits.items():
        spelt = name if name in outcome.effective else name.replace(".", "_")
        value = outcome.effective.get(spelt, "")
        written = [each for each in variants(name) if each in asked]
        if written and value.isdigit() and 0 < int(value) < least:
            says = f"it gives up after {spelt}={value}"
            fix = paste(block, {name: better})
            found.append(finding("producer-gives-up", block.file, line(block, tuple(written)), says, fix))
    return found


def stuck(block: Block, outcome: Outcome) -> list[Finding]:
    """A producer that starts and delivers nothing."""
    if not outcome.never_sends:
        return []
    at, fix = line(block, ("linger.ms",)), paste(block, {"linger.ms": "5"})
    return [finding("producer-never-sends", block.file, at, outcome.never_sends, fix)]


def changed(block: Block, outcome: Outcome) -> list[Finding]:
    """What the client changes without an error."""
    if not outcome.changes or outcome.refusals:
        return []
    says = "; ".join(each.says for each in outcome.changes)
    at = line(block, tuple(key for each in outcome.changes for key in each.keys))
    return [finding("setting-changed-silently", block.file, at, says, paste(block, outcome.effective_of_changes()))]


def misspelt(block: Block, outcome: Outcome) -> list[Finding]:
    """Names that the client ignores, and that look like ones that it has."""
    found = []
    for name in outcome.unknown:
        close = get_close_matches(name, keys("java"), 1, cutoff=0.9)
        if close and close[0] not in block.settings:
            says, fix = f"{name} is no setting of the client", paste(block, {close[0]: block.settings[name].text})
            found.append(finding("setting-misspelt", block.file, block.line_of(name), says, fix))
    return found


def by_version(block: Block, client: Client, outcome: Outcome, asked: Mapping[str, Any]) -> list[Finding]:
    """What other versions of the client would make of the same settings."""
    others = {".".join(map(str, version)): client.judge(asked, version).verdict for version in client.others}
    different = [f"{told.replace('_', ' ')} in {name}" for name, told in others.items() if told != outcome.verdict]
    if not different:
        return []
    assumed = ".".join(map(str, client.version))
    says = f"judged as version {assumed}, which is assumed; it would be {', '.join(different)}"
    return [finding("producer-depends-on-version", block.file, block.line, says, paste(block, ON))]


def line(block: Block, names: tuple[str, ...]) -> int:
    """Where the first of these settings stands, however it is spelt there; the block's own line if none does."""
    spelt = (variant for name in names for variant in variants(name))
    return next((block.settings[name].line for name in spelt if name in block.settings), block.line)


def variants(name: str) -> list[str]:
    """The names under which clients and Connect take the same setting."""
    same = [name, *next((group for group in SYNONYMS if name in group), ())]
    return [*same, *(f"{prefix}{each}" for prefix in ("producer.override.", "worker:producer.") for each in same)]


def shown(name: str) -> str:
    """A setting as people call it."""
    return name.replace("worker:", "the worker's ")
