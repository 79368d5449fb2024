"""From rounds to numbers: arms in turn, medians, ratios round by round, and a table with the goals."""

from collections.abc import Callable, Mapping, Sequence
from operator import ge, le
from statistics import median
from typing import NamedTuple

from ops.stack.stack import Step

Arm = Callable[[], float]  # runs one round and returns its rate


class Number(NamedTuple):
    """One line of the table; `rounds` are the values whose median it is, where there are several."""

    arm: str
    what: str
    value: float
    unit: str
    goal: str = ""  # such as ">= 40"
    rounds: Sequence[float] = ()

    def reached(self) -> bool | None:
        """Whether the goal is, if there is one."""
        sign, _, limit = self.goal.partition(" ")
        return {">=": ge, "<=": le}[sign](self.value, float(limit)) if sign else None


def compare(
    name: str, arms: Mapping[str, Arm], goals: Mapping[str, str], rounds: int, step: Step
) -> list[Number]:
    """Rates of arms that take turns, and how many times as fast the first one is: by round, then the median."""
    rates: dict[str, list[float]] = {arm: [] for arm in arms}
    for n in range(1, rounds + 1):
        for arm, run in arms.items():
            with step(f"{name}: {arm}, round {n} of {rounds}"):
                rates[arm].append(run())
    numbers = [
        Number(name, arm, median(found), "orders/s", rounds=found) for arm, found in rates.items()
    ]
    ours = next(iter(rates))
    for arm, goal in goals.items():
        times = [one / other for one, other in zip(rates[ours], rates[arm], strict=True)]
        numbers.append(Number(name, f"{ours} / {arm}", median(times), "times", goal, times))
    return numbers


def lines(numbers: Sequence[Number]) -> list[str]:
    """The numbers for people, each with its goal beside it."""
    said = {None: "", True: "reached", False: "MISSED"}
    return [
        f"{n.arm:<8} {n.what:<46} {short(n.value):>9} {n.unit:<9} {n.goal:<8} {said[n.reached()]:<8}"
        f"{f'{short(min(n.rounds))} to {short(max(n.rounds))}' if n.rounds else ''}".rstrip()
        for n in numbers
    ]


def short(value: float) -> str:
    """Three digits: more of them the machine does not repeat."""
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"
