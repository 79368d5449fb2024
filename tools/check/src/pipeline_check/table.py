"""The audit as people read it: each producer with its verdict, every finding, and the sum."""

from collections import Counter

from rich.console import Console
from rich.markup import escape

from pipeline_check.audit import Audit
from pipeline_check.rules.finding import LEVELS, Finding
from pipeline_check.rules.judge import Judgement

VERDICT_COLOURS = {
    "idempotent": "green",
    "not_idempotent": "red",
    "refused": "red",
    "depends": "yellow",
}
LEVEL_COLOURS = {"error": "red", "warning": "yellow", "note": "cyan"}
WIDTH = 16  # of the column with the verdicts
SHOWN = (
    "acks",
    "retries",
    "max.in.flight.requests.per.connection",
    "delivery.timeout.ms",
)


def print_table(audit: Audit, console: Console) -> None:
    """Print in colour on a terminal, elsewhere the same words plainly; NO_COLOR is respected."""
    clients = [f"{each.client} {each.version}" for each in audit.producers]
    width = max(map(len, clients), default=0) + 2
    for producer, client in zip(audit.producers, clients, strict=True):
        print_producer(producer, f"{client:<{width}}", console)
    for found in audit.every():
        print_finding(found, console)
    print_lines(f"\n{summary(audit)}", console)


def print_producer(producer: Judgement, client: str, console: Console) -> None:
    """Print a verdict and its place, and below it the values that become effective."""
    colour = VERDICT_COLOURS[producer.verdict]
    verdict = producer.verdict.replace("_", " ")
    place = f"{escape(producer.block.file)}:{producer.block.line}"
    print_lines(f"[{colour}]{verdict:<{WIDTH}}[/]{client}{place}", console)
    print_lines(" " * WIDTH + escape(effective(producer)), console)
    if producer.version_from:
        print_lines(" " * WIDTH + escape(f"version: {producer.version_from}"), console)


def print_lines(text: str, console: Console) -> None:
    """Print marked-up text as it is, without wrapping."""
    console.print(text, highlight=False, soft_wrap=True)


def effective(producer: Judgement) -> str:
    """Return the deciding values as they become effective."""
    shown = {}
    for name in SHOWN:
        for spelling in (name, name.replace(".", "_")):
            if spelling in producer.effective:
                shown[spelling] = producer.effective[spelling]
    if shown:
        return " ".join(f"{name}={value}" for name, value in shown.items())
    return "it does not start" if producer.verdict == "refused" else "cannot be said"


def print_finding(found: Finding, console: Console) -> None:
    """Print the place, the message, the fix, and where to read more."""
    level = LEVELS[found.severity]
    fix = found.fix.replace("\n", "\n         ")
    lines = [
        "",
        f"{escape(found.file)}:{found.line}: [{LEVEL_COLOURS[level]}]{level}[/] {found.id}",
        f"    {escape(found.message)}",
        f"    fix: {escape(fix)}",
    ]
    if found.link:
        lines.append(f"    see: {found.link}")
    print_lines("\n".join(lines), console)


def summary(audit: Audit) -> str:
    """Return one line: what was looked at, and what came of it."""
    verdicts = Counter(each.verdict.replace("_", " ") for each in audit.producers)
    producers = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
    levels = Counter(LEVELS[found.severity] for found in audit.every())
    findings = ", ".join(count_of(levels[level], level) for level in ("error", "warning", "note"))
    parts = [
        count_of(audit.files, "file"),
        f"producers: {producers or 'none'}",
        f"findings: {findings}",
        f"{len(audit.ignored)} ignored with a reason",
    ]
    return "; ".join(parts)


def count_of(count: int, what: str) -> str:
    """Return a number with its noun, in the plural where it takes one."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
