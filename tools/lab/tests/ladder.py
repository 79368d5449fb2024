"""What must come out on the ladder: what one strike of each point leaves behind, step by step."""

from collections.abc import Sequence

from lab.ladder.count import Hop

HOPS = ("orders", "rows", "events", "audit entries")
NOTHING = (0, 0, 0, 0)
# Copies too many at each hop; -1 is a loss.
EFFECT = {
    "ack": [(1, 1, 1, 1), NOTHING, NOTHING, NOTHING, NOTHING, NOTHING],
    "end": [(0, 1, 1, 1), (0, 1, 1, 1), (0, 0, 0, 1), (0, 0, 0, 1), NOTHING, NOTHING],
    "gap": [(0, 1, 0, 1), (0, 1, 0, 1), (0, 0, -1, 1), NOTHING, NOTHING, NOTHING],
    "late": [(0, 0, -1, 0), (0, 0, -1, 0), (0, 0, -1, 1), NOTHING, NOTHING, NOTHING],
    "freeze": [(0, 1, 1, 1), (0, 1, 1, 1), (0, 0, 0, 1), NOTHING, NOTHING, NOTHING],
    "answer": [(0, 0, 0, 1), (0, 0, 0, 1), (0, 0, 0, 1), (0, 0, 0, 1), NOTHING, NOTHING],
}


def expected(step: int, points: Sequence[str]) -> dict[str, Hop]:
    """Each strike meets an order of its own, so that what they leave adds up."""
    effects = [EFFECT[point][step] for point in points]
    columns = [[effect[n] for effect in effects] for n in range(len(HOPS))]
    return {
        name: Hop(sum(n for n in c if n > 0), -sum(n for n in c if n < 0))
        for name, c in zip(HOPS, columns, strict=True)
    }
