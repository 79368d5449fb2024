"""The inequalities of a budget, and what happens when one does not hold."""

import ast
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pipeline_check.budget.amounts import KINDS, format_amount

NAME = re.compile(r"[a-z_0-9]*[a-z][a-z_0-9]*")
SIGNS: dict[type, Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


@dataclass(frozen=True)
class Inequality:
    """A formula in the names of the intent, and why it must hold."""

    id: str
    formula: str
    why: str

    @property
    def names(self) -> list[str]:
        """Return every name of the formula, in its order."""
        return NAME.findall(self.formula)

    def comparison(self) -> ast.Compare:
        """Return the syntax tree of the formula."""
        tree = ast.parse(self.formula, mode="eval").body
        assert isinstance(tree, ast.Compare)
        return tree

    def sides(self, given: Mapping[str, float]) -> tuple[float, float]:
        """Return both sides, in seconds."""
        tree = self.comparison()
        return evaluate(tree.left, given), evaluate(tree.comparators[0], given)

    def holds(self, given: Mapping[str, float]) -> bool:
        """Return whether the inequality holds for these amounts."""
        compare = SIGNS[type(self.comparison().ops[0])]
        left, right = self.sides(given)
        return bool(compare(left, right))

    def with_numbers(self, given: Mapping[str, float]) -> str:
        """Return the formula with amounts in place of the names, and both sums."""

        def amount(name: re.Match[str]) -> str:
            return format_amount(given[name[0]], KINDS[name[0]])

        numbers = NAME.sub(amount, self.formula)
        left, right = self.sides(given)
        sums = f"{format_amount(left, 'time')} against {format_amount(right, 'time')}"
        return f"{numbers}, that is {sums}"


def evaluate(part: ast.expr, given: Mapping[str, float]) -> float:
    """Return the number that a part of a formula comes to."""
    if isinstance(part, ast.BinOp):
        calculate = SIGNS[type(part.op)]
        left = evaluate(part.left, given)
        right = evaluate(part.right, given)
        return calculate(left, right)
    assert isinstance(part, ast.Name)
    return given[part.id]


INEQUALITIES = (
    Inequality(
        "budget-poll-interval",
        "poll_interval >= margin * "
        "(batch * (attempts * timeout + back_off + statements * database_timeout)"
        " + offset_commit)",
        "a slower batch loses its partitions while it is in progress, and is handled twice",
    ),
    Inequality(
        "budget-caller",
        "timeout > receiver_timeout",
        "a caller that gives up first never learns the answer",
    ),
    Inequality(
        "budget-lease",
        "lease > p99",
        "a lease that ends in the middle of the work lets a second owner in",
    ),
    Inequality(
        "budget-drain",
        "stop_grace > drain",
        "a stop that takes longer ends in a kill, in the middle of a batch",
    ),
    Inequality(
        "budget-delivery",
        "delivery_timeout >= outage",
        "a producer that gives up earlier drops what it was handed",
    ),
    Inequality(
        "budget-dedup",
        "dedup_retention >= topic_retention + dead_letter_age + longest_replay + connect_outage",
        "a redelivery older than the dedup memory is handled as if it were new",
    ),
    Inequality(
        "budget-outbox",
        "outbox_retention >= reconciled_age",
        "what is purged before it is reconciled is never proved",
    ),
    Inequality(
        "budget-audit-key",
        "audit_key_lifetime >= redelivery_window",
        "a POST repeated after its key was forgotten has a second effect",
    ),
    Inequality(
        "budget-slot",
        "slot_keep_size / write_rate >= connect_outage",
        "the server then gives up the slot, and every event since is lost to Connect",
    ),
)
