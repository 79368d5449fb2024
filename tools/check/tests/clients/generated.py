"""Generated configurations: the same seed gives the same ones, and disagreements print it."""

import random
from collections.abc import Mapping, Sequence
from typing import TypeVar

V = TypeVar("V")
SEED = 20_260_405


def configurations(
    count: int, choices: Mapping[str, Sequence[V]], seed: int = SEED
) -> list[dict[str, V]]:
    """Return this many configurations of up to seven settings, each setting about equally often."""
    dice = random.Random(seed)  # noqa: S311 - to be repeated, not to be secret
    names = sorted(choices)
    return [
        {
            name: dice.choice(choices[name])
            for name in dice.sample(names, dice.randint(0, min(7, len(names))))
        }
        for _ in range(count)
    ]
