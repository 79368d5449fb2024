"""From rounds to numbers: arms in turn, medians, ratios round by round, and a table with goals."""

from collections.abc import Callable, Mapping, Sequence
from operator import ge, le
from statistics import median
from typing import NamedTuple

from ops.stack.stack import Step

Arm = Callable[[], float]  # runs one round and returns its rate
RATIO = "times"  # the unit of a ratio; the larger it is, the better for us
HEADINGS = ("arm", "what", "value", "unit", "goal", "must", "", "smallest to largest")
WIDTHS = ("<10", "<52", ">9", "<9", "<8", "<8", "<7", "")


def is_near_one(value: float, distance: float) -> bool:
    """Return whether a ratio differs from 1 by no more than this."""
    return abs(value - 1) <= distance


OPERATORS = {">=": ge, "<=": le, "±": is_near_one}


class Target(NamedTuple):
    """What a number should be, and what it must be: ">= 40", "± 0.2" (of 1), or nothing."""

    goal: str = ""
    must: str = ""


NO_TARGET = Target()


class Number(NamedTuple):
    """One line of the table; where there are `rounds`, the value is their median."""

    arm: str
    what: str
    value: float
    unit: str
    goal: str = ""  # such as ">= 40"
    must: str = ""
    rounds: Sequence[float] = ()

    def reached(self) -> bool | None:
        """Return whether the goal is reached, or nothing if there is no goal."""
        return fulfils(self.value, self.goal)

    def holds(self) -> bool | None:
        """Return whether the must is kept, or nothing if there is no must."""
        return fulfils(self.value, self.must)


def fulfils(value: float, limit: str) -> bool | None:
    """Return whether a value is within a limit, or nothing if there is no limit."""
    if not limit:
        return None
    sign, _, bound = limit.partition(" ")
    return bool(OPERATORS[sign](value, float(bound)))


def compare(
    name: str,
    arms: Mapping[str, Arm],
    targets: Mapping[str, Target],
    rounds: int,
    step: Step,
) -> list[Number]:
    """Return the rates of arms that take turns, and the ratios that have a target.

    A ratio is named by its two arms, such as "ours / naive". It is taken in each round; the number
    is the median of these ratios.
    """
    rates: dict[str, list[float]] = {arm: [] for arm in arms}
    for n in range(1, rounds + 1):
        for arm, run in arms.items():
            with step(f"{name}: {arm}, round {n} of {rounds}"):
                rates[arm].append(run())
    numbers = [
        Number(name, arm, median(values), "orders/s", rounds=values)
        for arm, values in rates.items()
    ]
    for what, target in targets.items():
        one, _, other = what.partition(" / ")
        ratios = divide(rates[one], rates[other])
        numbers.append(Number(name, what, median(ratios), RATIO, *target, ratios))
    return numbers


def divide(ours: Sequence[float], others: Sequence[float]) -> list[float]:
    """Return the ratio of each round."""
    return [one / other for one, other in zip(ours, others, strict=True)]


def lines(numbers: Sequence[Number]) -> list[str]:
    """Return the numbers for people, each with its goal and its must beside it."""
    return [as_row(*HEADINGS), *map(line, numbers)]


def line(number: Number) -> str:
    """Return one number for people."""
    spread = ""
    if number.rounds:
        smallest = short(min(number.rounds))
        largest = short(max(number.rounds))
        spread = f"{smallest} to {largest}"
    return as_row(
        number.arm,
        number.what,
        short(number.value),
        number.unit,
        number.goal,
        number.must,
        judge(number),
        spread,
    )


def as_row(*cells: str) -> str:
    """Return cells in columns; numbers stand on the right."""
    aligned = [f"{cell:{width}}" for cell, width in zip(cells, WIDTHS, strict=True)]
    return " ".join(aligned).rstrip()


def judge(number: Number) -> str:
    """Return what becomes of the target: a must that is missed is in capitals."""
    if number.holds() is False:
        return "MISSED"
    if number.reached() is False:
        return "short"
    return "reached" if number.reached() else ""


def short(value: float) -> str:
    """Return three digits: the machine does not repeat more of them."""
    is_large = abs(value) >= 100
    is_whole = value == int(value)
    return f"{value:,.0f}" if is_large or is_whole else f"{value:.3g}"
