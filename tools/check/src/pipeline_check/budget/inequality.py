"""An inequality: a formula in the names of the intent, judged and told with its numbers."""

import ast
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pipeline_check.budget.names import KINDS
from pipeline_check.budget.quantity import told

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
        numbers = re.sub(
            r"[a-z_0-9]*[a-z][a-z_0-9]*",
            lambda name: told(given[name[0]], KINDS[name[0]]),
            self.formula,
        )
        left, right = (told(side, "time") for side in self.sides(given))
        return f"{numbers}, that is {left} against {right}"


def value(part: ast.expr, given: Mapping[str, float]) -> float:
    """What a part of a formula comes to."""
    if isinstance(part, ast.BinOp):
        return SIGNS[type(part.op)](value(part.left, given), value(part.right, given))
    assert isinstance(part, ast.Name)
    return given[part.id]
