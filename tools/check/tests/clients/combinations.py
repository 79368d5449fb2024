"""Every combination of settings that a client is asked about."""

from collections.abc import Mapping, Sequence
from itertools import product


def combinations(choices: Mapping[str, Sequence[str | None]]) -> list[dict[str, str]]:
    """Return every combination of the choices; None leaves a setting out."""
    found = []
    for chosen in product(*choices.values()):
        named = zip(choices, chosen, strict=True)
        found.append({name: value for name, value in named if value is not None})
    return found
