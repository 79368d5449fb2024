"""What was refused since the last look, and when that is a burst."""

from typing import Any

import pytest

from ops.refused import compare, refused_lines


def counts(dead_letters: int, fresh: int, handled: int) -> dict[str, Any]:
    """What Postgres counts, with nothing that the audit receiver refused."""
    return {
        "at": "2026-11-22 19:02:11",
        "handled": handled,
        "dead_letters": dead_letters,
        "fresh_dead_letters": fresh,
        "audit_refusals": 0,
        "fresh_audit_refusals": 0,
        "parked": 0,
    }


@pytest.mark.parametrize(
    ("fresh", "handled", "burst"),
    [
        (503, 503, True),
        (10, 200, True),
        (9, 9, False),
        (60, 5_085, False),
    ],
    ids=["everything", "a twentieth", "few", "as in the demo"],
)
def test_a_burst_is_many_and_a_large_share(fresh: int, handled: int, burst: bool) -> None:
    """A few bad records, or some among very many good ones, are no burst."""
    found = compare({}, counts(1_000, fresh, handled))
    assert found["dead_letters"]["burst"] is burst
    assert not found["audit_refusals"]["burst"]


def test_each_look_says_what_is_new_since_the_one_before() -> None:
    """The first look knows no other; a second one right after it finds nothing new."""
    first = counts(7, 7, 5_000)
    [letters, refusals] = refused_lines(compare({}, first))
    assert letters == "dead letters: 7, 7 of them since the beginning"
    assert refusals == "audit refusals: 0, 0 of them since the beginning"
    [letters, _] = refused_lines(compare(first, counts(507, 500, 500)))
    since = "500 of them since the last look at 2026-11-22 19:02:11 UTC"
    assert letters == f"dead letters: 507, {since}; a BURST, 500 within 30 minutes"
    again = compare(first, counts(5, 5, 5_000))
    assert again["dead_letters"]["since_last_look"] == 0
