"""What a rule is about, with an example of before and after: `pipeline-check explain RULE`."""

import textwrap
from difflib import unified_diff

from pipeline_check.connector.values import RULES as OF_VALUES
from pipeline_check.rules.catalog import RULES
from pipeline_check.rules.examples import EXAMPLES
from pipeline_check.rules.finding import LEVELS

WIDTH = 96


def rule_names() -> list[str]:
    """Return the rules that have an explanation."""
    return sorted({*RULES, *(rule.id for rule in OF_VALUES)})


def explanation(name: str) -> str:
    """Return a rule's severity, its reason, what is right instead, and where to read more."""
    rule = RULES.get(name)
    if rule:
        lines = [f"{name} ({LEVELS[rule.severity]})", *wrapped(rule.why), f"  see: {rule.link}"]
        return "\n".join([*lines, *example_lines(name)])
    of_values = [each for each in OF_VALUES if each.id == name]
    lines = []
    for each in of_values:
        values = each.wrong.replace("|", ", ")
        key = each.key.removeprefix(".")
        lines.append(f"{name} ({LEVELS[each.severity]}): {key} = {values}; default: {each.default}")
        lines += [*wrapped(each.why), f"  write instead: {key} = {each.right}"]
    return "\n".join(lines)


def example_lines(name: str) -> list[str]:
    """Return a file with the fault, and the same without it, as a diff."""
    example = EXAMPLES.get(name)
    if not example:
        return []
    before, after = example.before.splitlines(), example.after.splitlines()
    lines = list(unified_diff(before, after, lineterm="", n=9))[3:]
    return ["", f"  {example.file}:", *(f"    {line}" for line in lines)]


def wrapped(text: str) -> list[str]:
    """Return a text in lines."""
    return textwrap.wrap(text, WIDTH, initial_indent="  ", subsequent_indent="  ")
