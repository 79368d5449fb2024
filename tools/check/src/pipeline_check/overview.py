"""A whole repository on one screen: producers, findings by rule, and the ten to begin with."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape

from pipeline_check.audit import Audit
from pipeline_check.rules.finding import LEVELS, Finding, Severity
from pipeline_check.rules.judge import Judgement

FITS = 12  # producers and findings that a screen has room for in full
FIRST = 10
OF_ONE_KIND = 3  # files that break the same rules
NAMED = 4  # rules of one file
LONGEST = 140  # characters of a message
COLOURS = {"error": "red", "warning": "yellow", "note": "cyan"}
# What nobody runs in production weighs less.
ASIDE = re.compile(
    r"(^|[/._-])(examples?|samples?|demos?|tests?|docs?|tutorials?|quickstart)([/._-]|$)"
)


def fits(audit: Audit) -> bool:
    """Return whether everything may be printed at once."""
    return len(audit.producers) + len(audit.every()) <= FITS


def print_overview(audit: Audit, console: Console) -> None:
    """Print the overview; --all has the rest."""
    findings = audit.every()
    lines = [
        *producer_lines(audit.producers),
        "",
        *rule_lines(findings),
        "",
        *first_lines(findings),
    ]
    for line in lines:
        console.print(line, highlight=False, soft_wrap=True)


def producer_lines(producers: Sequence[Judgement]) -> list[str]:
    """Return a line for each verdict: how many producers, and of which clients."""
    clients: dict[str, Counter[str]] = defaultdict(Counter)
    for each in producers:
        clients[each.verdict][f"{each.client} {each.version}"] += 1
    lines = []
    for verdict, counted in sorted(clients.items(), key=lambda item: -item[1].total()):
        named = ", ".join(f"{count} of {client}" for client, count in counted.most_common(4))
        rest = "" if len(counted) <= 4 else ", …"
        lines.append(f"{counted.total():>5} {verdict.replace('_', ' ')}: {escape(named)}{rest}")
    return lines or ["    0 producers"]


def rule_lines(findings: Sequence[Finding]) -> list[str]:
    """Return a line for each rule, the worst and most frequent first."""
    by_rule: dict[str, list[Finding]] = defaultdict(list)
    for each in findings:
        by_rule[each.id].append(each)
    ordered = sorted(by_rule.values(), key=lambda found: (-found[0].severity, -len(found)))
    return [rule_line(found) for found in ordered]


def rule_line(found: Sequence[Finding]) -> str:
    """Return how often a rule was broken, in how many files, and how much of that is aside."""
    level = LEVELS[found[0].severity]
    files = len({each.file for each in found})
    aside = sum(bool(ASIDE.search(each.file)) for each in found)
    places = "1 file" if files == 1 else f"{files} files"
    said = f"; {aside} in examples and tests" if aside else ""
    coloured = f"[{COLOURS[level]}]{level:<8}[/]"
    return f"{len(found):>5} {coloured}{found[0].id} in {places}{said}"


def first_lines(findings: Sequence[Finding]) -> list[str]:
    """Return the files to begin with: those that lose or double, where it is not an example.

    A file is named once, with all that is wrong in it; of what is the same in many, a few stand
    for the rest.
    """
    serious = sorted((each for each in findings if each.severity > Severity.NOTE), key=weight)
    used = [each for each in serious if not ASIDE.search(each.file)] or serious
    by_file: dict[str, list[Finding]] = defaultdict(list)
    for each in used:
        by_file[each.file].append(each)
    counted: Counter[tuple[str, ...]] = Counter()
    chosen = []
    for found in by_file.values():
        kind = tuple(dict.fromkeys(each.id for each in found))
        counted[kind] += 1
        if counted[kind] <= OF_ONE_KIND:
            chosen.append((kind, found))
    lines = ["to begin with:"] if chosen else []
    for kind, found in chosen[:FIRST]:
        worst = found[0]
        lines.append(f"  {escape(worst.file)}:{worst.line}: {named(kind)}")
        lines.append(f"      {escape(shortened(worst.message))}")
    left = "all of it: --all; one part: name its path; a rule: explain RULE"
    return [*lines, left]


def named(rules: Sequence[str]) -> str:
    """Return the rules that a file breaks, the worst first."""
    if len(rules) <= NAMED:
        return ", ".join(rules)
    return f"{', '.join(rules[:NAMED])} and {len(rules) - NAMED} more"


def weight(found: Finding) -> tuple[bool, int, str, int]:
    """Return how far down a finding belongs."""
    return bool(ASIDE.search(found.file)), -found.severity, found.file, found.line


def shortened(message: str) -> str:
    """Return a message that fits on a line, without what was asked for."""
    message = message.rpartition("; effective: ")[2]
    return message if len(message) <= LONGEST else f"{message[: LONGEST - 1]}…"
