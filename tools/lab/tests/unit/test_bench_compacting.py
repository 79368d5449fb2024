"""The seconds of a batch are read from the files that Spark writes when it begins and has ended."""

import os
from pathlib import Path

import pytest

from lab.bench import compacting
from lab.bench.compacting import read_batches


def note(checkpoint: Path, folder: str, batch: int, at: float) -> None:
    """Write what Spark writes about a batch, at this time."""
    file = checkpoint / folder / str(batch)
    file.parent.mkdir(exist_ok=True)
    file.touch()
    os.utime(file, (at, at))


def test_a_batch_lasts_from_its_offsets_to_its_commit(tmp_path: Path) -> None:
    """And counts for the time in which it has begun, even if it has ended later."""
    times = [(90, 95), (101, 103), (109, 114), (120, 121)]
    for batch, (begun, ended) in enumerate(times):
        note(tmp_path, "offsets", batch, begun)
        note(tmp_path, "commits", batch, ended)
    assert sorted(read_batches(tmp_path, 100, 110)) == [2, 5]


def test_a_batch_that_does_not_end_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says which, and where that would be seen: without it, the slowest would not count."""
    monkeypatch.setattr(compacting, "COMMITTED_SECONDS", 0)
    note(tmp_path, "offsets", 7, 101)
    with pytest.raises(AssertionError, match=r"\['7'\] are not in .*commits"):
        read_batches(tmp_path, 100, 110)
