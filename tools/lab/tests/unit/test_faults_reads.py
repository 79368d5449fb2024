"""What a worker read, judged: which jumps are lawful and which skip a record."""

import json
from pathlib import Path
from typing import Any

import pytest

from lab.faults.reads import check_worker

Line = dict[str, Any]


def assigned(*partitions: int) -> Line:
    """Return the line of an assignment."""
    return {"assigned": list(partitions)}


def gathered(*offsets: int) -> Line:
    """Return the line of a batch from one partition."""
    return {"gathered": [[0, offset] for offset in offsets]}


LAWFUL = {
    "one after the other": [assigned(0), gathered(5, 6), gathered(7)],
    "back to the first": [assigned(0), gathered(5, 6), {"rewound": [[0, 5], [0, 6]]}, gathered(5)],
    "others have read": [assigned(0), gathered(5, 6), assigned(0), gathered(20, 21)],
    "others have read amid a batch": [assigned(0), gathered(5), assigned(0), gathered(6, 20, 21)],
    "others have read amid the first batch": [assigned(0), assigned(0), gathered(5, 20)],
}
SKIPPED = {
    "between two batches": [assigned(0), gathered(5, 6), gathered(8)],
    "within a batch": [assigned(0), gathered(5, 7)],
    "read twice": [assigned(0), gathered(5, 6), gathered(6)],
    "after others have read": [assigned(0), gathered(5), assigned(0), gathered(20, 22)],
    "in the batch after": [assigned(0), gathered(5), assigned(0), gathered(6, 20), gathered(22)],
}


def count(lines: list[Line], folder: Path) -> int:
    """Return how many jumps are found in these lines."""
    file = folder / "1.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    return len(list(check_worker(file)))


@pytest.mark.parametrize("lines", LAWFUL.values(), ids=LAWFUL)
def test_a_lawful_way_has_no_finding(lines: list[Line], tmp_path: Path) -> None:
    """Whoever gets a partition back goes on where the others have committed."""
    assert count(lines, tmp_path) == 0


@pytest.mark.parametrize("lines", SKIPPED.values(), ids=SKIPPED)
def test_a_skipped_or_repeated_record_is_found(lines: list[Line], tmp_path: Path) -> None:
    """Each of these has one jump that no assignment explains."""
    assert count(lines, tmp_path) == 1
