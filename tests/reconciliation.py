"""What a reconciliation must have found, and where."""

from collections.abc import Callable
from typing import Any

Reconcile = Callable[[], dict[str, Any]]
GOOD = "verdict: nothing lost, nothing doubled"


def all_matched(result: dict[str, Any]) -> dict[str, Any]:
    """Nothing lost, nothing doubled, nothing different, in all that this stack has ever handled."""
    assert result["findings"] == []
    assert result["verdict"] == GOOD
    return result


def hop(result: dict[str, Any], name: str) -> dict[str, Any]:
    """The counts of one hop."""
    [found] = [row for row in result["hops"] if name in row["hop"]]
    return dict(found)
