"""What is asked of `pipeline size`, and the one sentence about what nobody can mean."""

from dataclasses import dataclass
from typing import NamedTuple

from ops.stack.supervisor import StackError

DAY = 86_400  # seconds


class Option(NamedTuple):
    """One number that is asked for."""

    name: str
    least: float
    most: float  # more is a slip of the hand
    example: str


ORDERS = Option("--orders-per-second", 0.001, 10_000_000, "500")
RETENTION = Option("--retention", 1, 36_500, "30")
PEAK = Option("--peak-factor", 1, 1_000, "3")
OUTAGE = Option("--outage-hours", 0.1, 8_760, "24")


@dataclass(frozen=True)
class Demand:
    """A load, how long everything is kept, and the outage that nothing may be lost in."""

    orders_per_second: float  # on average
    days: float
    peak_factor: float = 1
    outage_hours: float = 24

    @property
    def peak(self) -> float:
        """Return orders a second when it is busiest."""
        return self.orders_per_second * self.peak_factor

    @property
    def kept(self) -> float:
        """Return how many orders are kept."""
        return self.orders_per_second * DAY * self.days


def read_number(option: Option, text: str) -> float:
    """Return the number that was typed, or say in one sentence what it should be."""
    try:
        value = float(text)
    except ValueError:
        raise StackError(f"{option.name}={text} is no number: {ask_for(option)}") from None
    if not option.least <= value <= option.most:  # neither is "nan"
        raise StackError(f"{option.name}={text} is out of range: {ask_for(option)}")
    return value


def require(option: Option, value: float | None) -> float:
    """Return a number that must be there."""
    if value is None:
        raise StackError(f"{option.name} is missing: {ask_for(option)}")
    return value


def ask_for(option: Option) -> str:
    """Return what to type."""
    return f"give it from {option.least:g} to {option.most:,.0f}, such as {option.example}"
