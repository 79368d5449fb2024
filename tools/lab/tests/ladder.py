"""What must come out on the ladder: what one fault at each point leaves behind, step by step."""

from collections.abc import Sequence

from lab.ladder.count import Hop

HOPS = ("orders", "rows", "events", "audit entries")
NOTHING = (0, 0, 0, 0)
# Extra copies at each hop, on each step; -1 is a loss.
ENTRY = (0, 0, 0, 1)
EVENT = (0, 0, 1, 0)
BOTH = (0, 0, 1, 1)
ROW_TOO = (0, 1, 1, 1)
EFFECT = {
    "ack": [(1, 1, 1, 1), *[NOTHING] * 6],
    "end": [ROW_TOO, ROW_TOO, ENTRY, ENTRY, NOTHING, NOTHING, NOTHING],
    "gap": [(0, 1, 0, 1), (0, 1, 0, 1), (0, 0, -1, 1), BOTH, EVENT, NOTHING, NOTHING],
    "late": [(0, 0, -1, 0), (0, 0, -1, 0), (0, 0, -1, 1), BOTH, EVENT, NOTHING, NOTHING],
    "freeze": [ROW_TOO, ROW_TOO, ENTRY, ENTRY, NOTHING, NOTHING, NOTHING],
    "answer": [ENTRY, ENTRY, ENTRY, ENTRY, NOTHING, NOTHING, NOTHING],
    "post-first": [ENTRY, ENTRY, ENTRY, BOTH, EVENT, NOTHING, NOTHING],
    "post-last": [ENTRY, ENTRY, ENTRY, BOTH, EVENT, NOTHING, NOTHING],
}


def expected(step: int, points: Sequence[str]) -> dict[str, Hop]:
    """Return what these faults leave; each hits an order of its own, so that effects add up."""
    effects = [EFFECT[point][step] for point in points]
    hops = {}
    for column, name in enumerate(HOPS):
        counts = [effect[column] for effect in effects]
        doubled = sum(count for count in counts if count > 0)
        lost = -sum(count for count in counts if count < 0)
        hops[name] = Hop(doubled, lost)
    return hops
