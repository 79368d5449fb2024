"""Every inequality with its numbers, and a finding for each that does not hold."""

import sys
from collections.abc import Sequence
from pathlib import Path

from pipeline_check.budget.inequality import Inequality
from pipeline_check.budget.intent import IntentError, read
from pipeline_check.budget.names import DEFAULTS, KINDS
from pipeline_check.budget.sums import INEQUALITIES
from pipeline_check.finding import Finding, Severity


def judge(file: Path, flags: Sequence[str] = ()) -> tuple[list[str], list[Finding]]:
    """A line for each inequality, and the findings; IntentError if the intent cannot be read."""
    written = read(file, flags)
    lines, findings = [], []
    for one in INEQUALITIES:
        missing = [name for name in one.names if name not in written | DEFAULTS]
        if not set(one.names) & written.keys():
            lines.append(f"not asked  {one.id}: {one.formula}")
        elif missing:
            lines.append(f"not judged {one.id}: {one.formula}; {', '.join(missing)} not given")
            findings.append(incomplete(file, one, missing))
        else:
            given = DEFAULTS | written
            lines.append(f"{'holds' if one.holds(given) else 'FAILS':<10} {one.id}: {one.formula}")
            lines.append(f"{'':<11}{one.numbers(given)}")
            findings += [] if one.holds(given) else [broken(file, one, given)]
    return lines, findings


def broken(file: Path, one: Inequality, given: dict[str, float]) -> Finding:
    """The finding for sums that do not hold."""
    larger, _, smaller = one.formula.partition(" > " if " > " in one.formula else " >= ")
    return Finding(
        one.id,
        Severity.ERROR,
        str(file),
        line_of(file, one.names),
        f"{one.formula} does not hold: {one.numbers(given)}; {one.why}",
        f"raise {larger}, or lower {smaller}",
    )


def incomplete(file: Path, one: Inequality, missing: list[str]) -> Finding:
    """The finding for sums that lack a number."""
    examples = {"time": "30s", "size": "4GB", "rate": "1MB/s", "count": "1"}
    return Finding(
        "budget-incomplete",
        Severity.NOTE,
        str(file),
        line_of(file, one.names),
        f"not judged: {one.formula}, because {', '.join(missing)} is not given; {one.why}",
        "; ".join(f'{name} = "{examples[KINDS[name]]}"' for name in missing),
    )


def line_of(file: Path, names: Sequence[str]) -> int:
    """Where the first of these names stands in the intent."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    of = {line.partition("=")[0].strip(): n for n, line in reversed(list(enumerate(lines, 1)))}
    return next((of[name] for name in names if name in of), 0)


def main(arguments: Sequence[str]) -> int:
    """Print them; 0 if all hold, 1 if one does not, 2 if the intent cannot be read."""
    files, flags = [a for a in arguments if "=" not in a], [a for a in arguments if "=" in a]
    try:
        lines, findings = judge(Path(files[0] if files else "pyproject.toml"), flags)
    except IntentError as error:
        print(error, file=sys.stderr)
        return 2
    print("\n".join(lines))
    return int(any(finding.severity == Severity.ERROR for finding in findings))
