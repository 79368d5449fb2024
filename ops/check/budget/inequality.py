"""The inequalities themselves: each a formula in the names of the intent, and what happens when it fails."""

import ast
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ops.check.budget.quantity import told

# What each name of the intent is. The last ones need not be given.
KINDS = {
    **dict.fromkeys(("poll_interval", "timeout", "database_timeout", "receiver_timeout", "lease", "p99"), "time"),
    **dict.fromkeys(("drain", "stop_grace", "delivery_timeout", "outage", "back_off", "offset_commit"), "time"),
    **dict.fromkeys(("dedup_retention", "topic_retention", "dead_letter_age", "longest_replay"), "time"),
    **dict.fromkeys(("connect_outage", "outbox_retention", "reconciled_age", "audit_key_lifetime"), "time"),
    **dict.fromkeys(("redelivery_window",), "time"),
    **dict.fromkeys(("batch", "attempts", "statements", "margin"), "count"),
    "slot_keep_size": "size",
    "write_rate": "rate",
}
DEFAULTS = {"margin": 2.0, "back_off": 0.0, "offset_commit": 0.0, "statements": 1.0}
SIGNS: dict[type, Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


@dataclass(frozen=True)
class Inequality:
    """What must hold, and what is to be feared."""

    id: str
    formula: str
    why: str

    @property
    def names(self) -> list[str]:
        """Every name that it needs, as they come."""
        return re.findall(r"[a-z_0-9]*[a-z][a-z_0-9]*", self.formula)

    def sides(self, given: Mapping[str, float]) -> tuple[float, float]:
        """Both sides, in seconds."""
        parts = self.comparison()
        return value(parts.left, given), value(parts.comparators[0], given)

    def holds(self, given: Mapping[str, float]) -> bool:
        """Whether it does."""
        return bool(SIGNS[type(self.comparison().ops[0])](*self.sides(given)))

    def comparison(self) -> ast.Compare:
        """The formula, taken apart."""
        parts = ast.parse(self.formula, mode="eval").body
        assert isinstance(parts, ast.Compare)
        return parts

    def numbers(self, given: Mapping[str, float]) -> str:
        """The formula with the numbers in place of the names, and what they come to."""
        numbers = re.sub(r"[a-z_0-9]*[a-z][a-z_0-9]*", lambda name: told(given[name[0]], KINDS[name[0]]), self.formula)
        left, right = (told(side, "time") for side in self.sides(given))
        return f"{numbers}, that is {left} against {right}"


def value(part: ast.expr, given: Mapping[str, float]) -> float:
    """What a part of a formula comes to."""
    if isinstance(part, ast.BinOp):
        return SIGNS[type(part.op)](value(part.left, given), value(part.right, given))
    assert isinstance(part, ast.Name)
    return given[part.id]


INEQUALITIES = (
    Inequality(
        "budget-poll-interval",
        "poll_interval >= margin * (batch * (attempts * timeout + back_off + statements * database_timeout)"
        " + offset_commit)",
        "a slower batch loses its partitions while it is in work, and another worker does it again",
    ),
    Inequality("budget-caller", "timeout > receiver_timeout", "a caller that gives up first never learns the answer"),
    Inequality("budget-lease", "lease > p99", "a lease that ends in the middle of the work lets a second owner in"),
    Inequality("budget-drain", "stop_grace > drain", "a stop that takes longer ends in a kill, amid a batch"),
    Inequality(
        "budget-delivery", "delivery_timeout >= outage", "a producer that gives up earlier drops what it was handed"
    ),
    Inequality(
        "budget-dedup",
        "dedup_retention >= topic_retention + dead_letter_age + longest_replay + connect_outage",
        "a redelivery older than the dedup memory is handled as if it were new",
    ),
    Inequality(
        "budget-outbox", "outbox_retention >= reconciled_age", "what is purged before it is reconciled is never proved"
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
