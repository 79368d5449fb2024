"""A client's list of settings, kept beside this file: names, types, what is allowed, defaults."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True)
class Key:
    """One setting; the first line of each list says what its `scope` and `extra` mean."""

    name: str
    scope: str
    type: str
    allowed: str = ""
    default: str = ""
    extra: str = ""

    def bounds(self) -> tuple[float, float] | None:
        """Return the smallest and the largest number, where there are bounds."""
        low, dots, high = self.allowed.partition(" ..")
        return (float(low), float(high or "inf")) if dots else None

    def words(self) -> list[str]:
        """Return the words that are allowed, where only some are."""
        listed = self.allowed.removeprefix("(case insensitive) ").strip("[]")
        return [] if not listed or self.bounds() else listed.split(", ")

    def why_outside(self, number: float) -> str:
        """Return why a number is refused; nothing if it is not."""
        bounds = self.bounds()
        if not bounds or bounds[0] <= number <= bounds[1]:
            return ""
        return f"{self.name}={number:.15g} is outside {self.allowed}"


@cache
def keys(client: str) -> dict[str, Key]:
    """Return every setting of a client under its name."""
    file = Path(__file__).with_name(f"{client}.tsv")
    found = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            key = Key(*line.split("\t"))
            found[key.name] = key
    return found
