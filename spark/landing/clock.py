"""The machine's clock, as far as landing depends on it.

Spark starts each batch at a time of the wall clock. Once a clock that was hours ahead is set right,
it would wait for those hours.
"""

import time


def clock_lead() -> float:
    """Return by how many seconds the wall clock is ahead of one that nobody sets."""
    return time.time() - time.monotonic()
