"""A client's own list of settings, kept beside this file: names, types, what is allowed, defaults."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True)
class Key:
    """One setting; what `scope` and `extra` mean stands in the first line of each list."""

    name: str
    scope: str
    type: str
    allowed: str = ""
    default: str = ""
    extra: str = ""

    def bounds(self) -> tuple[float, float] | None:
        """The smallest and the largest number, where there are such."""
        low, dots, high = self.allowed.partition(" ..")
        return (float(low), float(high or "inf")) if dots else None

    def values(self) -> list[str]:
        """The words that are allowed, where only some are."""
        listed = self.allowed.removeprefix("(case insensitive) ").strip("[]")
        return [] if not listed or self.bounds() else listed.split(", ")

    def outside(self, number: float) -> str:
        """Why a number is refused; nothing if it is not."""
        bounds = self.bounds()
        if not bounds or bounds[0] <= number <= bounds[1]:
            return ""
        return f"{self.name}={number:.15g} is outside {self.allowed}"


@cache
def keys(client: str) -> dict[str, Key]:
    """Every setting of a client under its name."""
    lines = Path(__file__).with_name(f"{client}.tsv").read_text(encoding="utf-8").splitlines()
    return {
        line.split("\t")[0]: Key(*line.split("\t")) for line in lines if not line.startswith("#")
    }
