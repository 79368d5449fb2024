"""From rounds to numbers: arms in turn, medians, ratios round by round, and a table with goals."""

from collections.abc import Callable, Mapping, Sequence
from operator import ge, le
from statistics import median
from typing import NamedTuple

from ops.stack.stack import Step

Arm = Callable[[], float]  # runs one round and returns its rate
OPERATORS = {">=": ge, "<=": le}
VERDICTS = {None: "", True: "reached", False: "MISSED"}


class Number(NamedTuple):
    """One line of the table; where there are `rounds`, the value is their median."""

    arm: str
    what: str
    value: float
    unit: str
    goal: str = ""  # such as ">= 40"
    rounds: Sequence[float] = ()

    def reached(self) -> bool | None:
        """Return whether the goal is reached, or nothing if there is no goal."""
        if not self.goal:
            return None
        sign, _, limit = self.goal.partition(" ")
        return bool(OPERATORS[sign](self.value, float(limit)))


def compare(
    name: str,
    arms: Mapping[str, Arm],
    goals: Mapping[str, str],
    rounds: int,
    step: Step,
) -> list[Number]:
    """Return the rates of arms that take turns, and how much faster the first one is.

    A ratio is taken in each round; the number is the median of these ratios.
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
    first = next(iter(rates))
    for arm, goal in goals.items():
        ratios = divide(rates[first], rates[arm])
        number = Number(
            arm=name,
            what=f"{first} / {arm}",
            value=median(ratios),
            unit="times",
            goal=goal,
            rounds=ratios,
        )
        numbers.append(number)
    return numbers


def divide(ours: Sequence[float], others: Sequence[float]) -> list[float]:
    """Return the ratio of each round."""
    return [one / other for one, other in zip(ours, others, strict=True)]


def lines(numbers: Sequence[Number]) -> list[str]:
    """Return the numbers for people, each with its goal beside it."""
    return [line(number) for number in numbers]


def line(number: Number) -> str:
    """Return one number for people."""
    spread = ""
    if number.rounds:
        smallest = short(min(number.rounds))
        largest = short(max(number.rounds))
        spread = f"{smallest} to {largest}"
    columns = [
        f"{number.arm:<8}",
        f"{number.what:<46}",
        f"{short(number.value):>9}",
        f"{number.unit:<9}",
        f"{number.goal:<8}",
        f"{VERDICTS[number.reached()]:<7}",
        spread,
    ]
    return " ".join(columns).rstrip()


def short(value: float) -> str:
    """Return three digits: the machine does not repeat more of them."""
    is_large = abs(value) >= 100
    is_whole = value == int(value)
    return f"{value:,.0f}" if is_large or is_whole else f"{value:.3g}"
