"""The audit as a table for people: each producer, its verdict and what becomes effective; every finding; the sum."""

from collections import Counter

from rich.console import Console
from rich.markup import escape

from pipeline_check.audit import Audit
from pipeline_check.finding import LEVELS, Finding
from pipeline_check.judgement import Judgement

COLOURS = {"idempotent": "green", "not_idempotent": "red", "refused": "red", "depends": "yellow"}
LEVEL_COLOURS = {"error": "red", "warning": "yellow", "note": "cyan"}
UNSAID = {"refused": "it does not start"} | dict.fromkeys(
    ("depends", "idempotent", "not_idempotent"), "cannot be said"
)
SHOWN = ("acks", "retries", "max.in.flight.requests.per.connection", "delivery.timeout.ms")


def print_table(audit: Audit, console: Console) -> None:
    """To a terminal in colour, elsewhere as plain text of the same words; NO_COLOR is respected."""
    clients = [f"{each.client} {each.version}" for each in audit.producers]
    width = max(map(len, clients), default=0) + 2
    for each, client in zip(audit.producers, clients, strict=True):
        verdict = f"{each.verdict.replace('_', ' '):<16}"
        where = f"{escape(each.block.file)}:{each.block.line}"
        line = f"[{COLOURS[each.verdict]}]{verdict}[/]{client:<{width}}{where}"
        console.print(f"{line}\n{'':16}{escape(effective(each))}", highlight=False, soft_wrap=True)
    for found in audit.every():
        print_finding(found, console)
    console.print(f"\n{summary(audit)}", highlight=False, soft_wrap=True)


def effective(each: Judgement) -> str:
    """The values that decide, as they become effective."""
    names = [
        name
        for wanted in SHOWN
        for name in (wanted, wanted.replace(".", "_"))
        if name in each.effective
    ]
    return (
        " ".join(f"{name}={each.effective[name]}" for name in dict.fromkeys(names))
        or UNSAID[each.verdict]
    )


def print_finding(found: Finding, console: Console) -> None:
    """Where, what, the fix, and where to read on."""
    level = LEVELS[found.severity]
    head = f"{escape(found.file)}:{found.line}: [{LEVEL_COLOURS[level]}]{level}[/] {found.id}"
    fix = found.fix.replace("\n", "\n         ")
    text = f"\n{head}\n    {escape(found.message)}\n    fix: {escape(fix)}"
    console.print(
        text + (f"\n    see: {found.link}" if found.link else ""), highlight=False, soft_wrap=True
    )


def summary(audit: Audit) -> str:
    """One line: what was looked at and what came of it."""
    verdicts = Counter(each.verdict.replace("_", " ") for each in audit.producers)
    told = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items())) or "none"
    counts = Counter(LEVELS[found.severity] for found in audit.every())
    found = ", ".join(several(counts[level], level) for level in ("error", "warning", "note"))
    ignored = f"{len(audit.ignored)} ignored with a reason"
    return f"{several(audit.files, 'file')}; producers: {told}; findings: {found}; {ignored}"


def several(count: int, what: str) -> str:
    """So many of something."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
