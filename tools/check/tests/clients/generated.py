"""Configurations by the thousand: the same seed gives the same ones, and it is printed with every disagreement."""

import random
from collections.abc import Mapping, Sequence
from typing import TypeVar

V = TypeVar("V")
SEED = 20_260_405


def configurations(
    count: int, choices: Mapping[str, Sequence[V]], seed: int = SEED
) -> list[dict[str, V]]:
    """So many configurations, of one to seven settings each, every setting about as often as the others."""
    dice = random.Random(seed)  # noqa: S311 - to be repeated, not to be secret
    names = sorted(choices)
    return [
        {
            name: dice.choice(choices[name])
            for name in dice.sample(names, dice.randint(0, min(7, len(names))))
        }
        for _ in range(count)
    ]
