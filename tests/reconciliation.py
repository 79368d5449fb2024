"""Assertions about what a reconciliation found."""

from collections.abc import Callable
from typing import Any

Reconcile = Callable[[], dict[str, Any]]
GOOD = "verdict: nothing lost, nothing doubled"


def all_matched(result: dict[str, Any]) -> dict[str, Any]:
    """Assert that nothing that this stack ever handled is lost, doubled or different."""
    assert result["findings"] == []
    verdict, _, _on_their_way = result["verdict"].partition("; ")
    assert verdict == GOOD
    return result


def hop(result: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the counts of one hop."""
    [found] = [row for row in result["hops"] if name in row["hop"]]
    return dict(found)
