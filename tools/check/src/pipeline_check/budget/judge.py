"""Judge a budget: every inequality with its numbers, and a finding for each that does not hold."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from pipeline_check.budget.amounts import DEFAULTS, KINDS
from pipeline_check.budget.inequalities import INEQUALITIES, Inequality
from pipeline_check.budget.intent import IntentError, read_intent
from pipeline_check.rules.catalog import make_finding
from pipeline_check.rules.finding import Finding, Severity

TABLE = "[tool.pipeline.budget]"
EXAMPLES = {"time": "30s", "size": "4GB", "rate": "1MB/s", "count": "1"}


def find_in_budgets(files: Iterable[str]) -> Iterable[Finding]:
    """Judge every pyproject.toml among these files that states its intent."""
    for file in map(Path, files):
        if file.name != "pyproject.toml":
            continue
        if TABLE not in file.read_text(encoding="utf-8", errors="replace"):
            continue
        try:
            _, findings = judge_budget(file)
            yield from findings
        except IntentError as broken:
            yield make_finding("cannot-read", str(file), 1, str(broken), f"fix {TABLE}")


def print_budget(arguments: Sequence[str]) -> int:
    """Print every inequality; return 0 if all hold, 1 if one does not, 2 for a bad intent."""
    files = [each for each in arguments if "=" not in each]
    flags = [each for each in arguments if "=" in each]
    file = Path(files[0] if files else "pyproject.toml")
    try:
        lines, findings = judge_budget(file, flags)
    except IntentError as error:
        print(error, file=sys.stderr)
        return 2
    print("\n".join(lines))
    is_broken = any(finding.severity == Severity.ERROR for finding in findings)
    return 1 if is_broken else 0


def judge_budget(file: Path, flags: Sequence[str] = ()) -> tuple[list[str], list[Finding]]:
    """Return a line or two for each inequality, and the findings."""
    written = read_intent(file, flags)
    given = DEFAULTS | written
    lines = []
    findings = []
    for one in INEQUALITIES:
        missing = [name for name in one.names if name not in given]
        is_asked = any(name in written for name in one.names)
        if not is_asked:
            lines.append(f"not asked  {one.id}: {one.formula}")
        elif missing:
            names = ", ".join(missing)
            lines.append(f"not judged {one.id}: {one.formula}; {names} not given")
            findings.append(incomplete(file, one, missing))
        else:
            holds = one.holds(given)
            word = "holds" if holds else "FAILS"
            lines.append(f"{word:<10} {one.id}: {one.formula}")
            lines.append(" " * 11 + one.with_numbers(given))
            if not holds:
                findings.append(broken(file, one, given))
    return lines, findings


def broken(file: Path, one: Inequality, given: dict[str, float]) -> Finding:
    """Report an inequality that does not hold."""
    sign = " > " if " > " in one.formula else " >= "
    larger, _, smaller = one.formula.partition(sign)
    return Finding(
        one.id,
        Severity.ERROR,
        str(file),
        line_of_first(file, one.names),
        message=f"{one.formula} does not hold: {one.with_numbers(given)}; {one.why}",
        fix=f"raise {larger}, or lower {smaller}",
    )


def incomplete(file: Path, one: Inequality, missing: list[str]) -> Finding:
    """Report an inequality that lacks a number."""
    names = ", ".join(missing)
    examples = [f'{name} = "{EXAMPLES[KINDS[name]]}"' for name in missing]
    return Finding(
        "budget-incomplete",
        Severity.NOTE,
        str(file),
        line_of_first(file, one.names),
        message=f"not judged: {one.formula}, because {names} is not given; {one.why}",
        fix="; ".join(examples),
    )


def line_of_first(file: Path, names: Sequence[str]) -> int:
    """Return the line of the first of these names in the intent, or 0."""
    if not file.exists():
        return 0
    lines: dict[str, int] = {}
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        lines.setdefault(line.partition("=")[0].strip(), number)
    for name in names:
        if name in lines:
            return lines[name]
    return 0
