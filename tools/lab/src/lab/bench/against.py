"""The ratios of a run beside those of an earlier one; numbers of another machine mean nothing."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, FiniteFloat, ValidationError

from lab.bench.numbers import RATIO, Number
from ops.stack.supervisor import StackError

FALL = 0.15  # of a ratio; less is what two runs on one machine differ by

Name = tuple[str, str]  # arm and what
Ratios = dict[Name, float]


class EarlierNumber(BaseModel):
    """What is read of a number of an earlier run."""

    arm: str
    what: str
    value: FiniteFloat
    unit: str


class Earlier(BaseModel):
    """What is read of an earlier run."""

    numbers: list[EarlierNumber]


class Comparison(NamedTuple):
    """What is to be said of two runs, each a list of sentences."""

    fallen: list[str]
    gone: list[str]  # measured then and not now: it may have fallen, and nobody would see it
    new: list[str]  # measured now and not then


def read_ratios(file: Path, only: Sequence[str]) -> Ratios:
    """Return the earlier ratios of these arms, or all if none is named; refuse a file without."""
    try:
        earlier = Earlier.model_validate_json(file.read_bytes())
    except OSError as error:
        raise StackError(f"--against: {file} cannot be read: {error.strerror}") from error
    except ValidationError as error:
        raise StackError(
            f"--against: {file} is not the output of pipeline bench --json: {first_of(error)}"
        ) from error
    ratios = {}
    for number in earlier.numbers:
        is_asked_for = not only or number.arm in only
        if number.unit == RATIO and is_asked_for:
            ratios[number.arm, number.what] = number.value
    if not ratios:
        raise StackError(
            f"--against: {file} has no ratio of {', '.join(only) or 'any arm'}:"
            " name the output of a pipeline bench --json that has measured the same"
        )
    return ratios


def first_of(error: ValidationError) -> str:
    """Return the first thing that is wrong, with its place in the document."""
    first, *_ = error.errors()
    place = ".".join(map(str, first["loc"]))
    return f"{place}: {first['msg']}" if place else first["msg"]


def compare_with(earlier: Ratios, numbers: Sequence[Number]) -> Comparison:
    """Return what has fallen by more than FALL, and what only one of the two runs has measured."""
    ratios = [number for number in numbers if number.unit == RATIO]
    now = {(number.arm, number.what): number.value for number in ratios}
    fallen = []
    for name in earlier.keys() & now.keys():
        least = earlier[name] * (1 - FALL)
        if now[name] < least:
            fallen.append(describe_fall(name, earlier[name], now[name]))
    gone = [f"{show(name)} is not measured any more" for name in earlier.keys() - now.keys()]
    new = [f"{show(name)} was not measured then" for name in now.keys() - earlier.keys()]
    return Comparison(sorted(fallen), sorted(gone), sorted(new))


def describe_fall(name: Name, then: float, now: float) -> str:
    """Return the sentence about a ratio that has fallen."""
    return f"{show(name)} has fallen from {then:.3g} to {now:.3g}, by {1 - now / then:.0%}"


def show(name: Name) -> str:
    """Return a number's name for people."""
    return ", ".join(name)


def as_document(file: Path, found: Comparison) -> dict[str, Any]:
    """Return the comparison for programs."""
    return {"file": str(file), **found._asdict()}


def lines(found: Comparison) -> list[str]:
    """Return the comparison for people, a line for each sentence."""
    bad = [*found.fallen, *found.gone] or ["no ratio has fallen"]
    return [*bad, *found.new]
