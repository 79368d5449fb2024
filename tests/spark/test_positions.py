"""Decisions that need no Spark: where landing starts, when it is settled, what the verdict is."""

import json

import pytest

from spark.hops import make_hops
from spark.positions import landing_behind, starting_offsets, wait_until_settled
from spark.report import COUNTS, render_text, sort_by_path, verdict_of

PARTITIONS = [("a", 0), ("a", 1), ("b", 0)]


def hop(name: str, **counts: int) -> dict[str, object]:
    """The counts of a hop, 0 unless said otherwise."""
    return {"hop": name, **dict.fromkeys([*COUNTS, "matched"], 0), **counts}


def test_starting_offsets_name_every_partition() -> None:
    """Behind the last row where a partition has rows, at the beginning where it has none."""
    offsets = json.loads(starting_offsets(PARTITIONS, {("a", 0): range(3, 8)}))
    assert offsets == {"a": {"0": 8, "1": -2}, "b": {"0": -2}}


@pytest.mark.parametrize(
    ("landed", "behind"),
    [
        ({("a", 0): range(8), ("a", 1): range(2, 5)}, ""),
        (
            {("a", 0): range(7), ("a", 1): range(2, 5)},
            "a/0 has landed up to 7 of 8: is land running?",
        ),
        ({("a", 0): range(8)}, "a/1 has landed up to 2 of 5: is land running?"),
    ],
)
def test_landing_is_behind_until_every_partition_has_come_to_its_end(
    landed: dict[tuple[str, int], range], behind: str
) -> None:
    """Neither empty partitions nor records that were deleted before they landed are waited for."""
    there = {("a", 0): range(8), ("a", 1): range(2, 5), ("b", 0): range(4, 4)}
    assert landing_behind(landed, there) == behind


def test_wait_ends_at_its_deadline_with_what_was_behind(capsys: pytest.CaptureFixture[str]) -> None:
    """Not settled in time is exit code 2 and a sentence that names what is behind."""
    with pytest.raises(SystemExit) as ended:
        wait_until_settled(0, lambda: "slot x is 7 bytes behind")
    assert ended.value.code == 2
    assert capsys.readouterr().err == "not settled: slot x is 7 bytes behind\n"


def test_verdict_says_what_is_wrong() -> None:
    """Late ids are no defect; each kind of defect is counted over all hops."""
    clean = hop("tracking → outbox", matched=3, late=4)
    assert verdict_of([clean]) == {"ok": True, "verdict": "verdict: nothing lost, nothing doubled"}
    wrong = [clean, hop("x", missing=1, different=2), hop("y", missing=1)]
    assert verdict_of(wrong) == {"ok": False, "verdict": "verdict: 2 missing, 2 different"}


def test_text_ends_with_the_verdict() -> None:
    """A row for each hop along the path, the findings, the page's path, and last the verdict."""
    finding = {
        "hop": "tracking → outbox",
        "id": "m-1",
        "outcome": "missing",
        "detail": "did not come out",
    }
    path = [hop.name for hop in make_hops("order.events")]
    hops = sort_by_path([hop("outbox → audit.events"), hop("tracking → outbox", missing=1)], path)
    result = {**verdict_of(hops), "hops": hops, "findings": [finding], "report": "r.html"}
    text = render_text(result).splitlines()
    assert [line.split("  ")[0] for line in text[2:4]] == [
        "tracking → outbox",
        "outbox → audit.events",
    ]
    assert text[4:] == [
        "missing: m-1 in tracking → outbox: did not come out",
        "report: r.html",
        "verdict: 1 missing",
    ]
