"""When the row of an event was there is read from the commits of its table."""

import json
from collections.abc import Sequence
from pathlib import Path

import duckdb
import pytest

from lab.bench import landed
from lab.bench.landed import next_version, read_commits, read_keys


def commit(table: Path, version: int, numbers: Sequence[int]) -> Path:
    """Commit the events of these orders as Delta does; of none, what a table begins with."""
    log = table / "_delta_log"
    log.mkdir(exist_ok=True)
    actions: list[dict[str, object]] = [{"commitInfo": {"operation": "WRITE"}}]
    if numbers:
        name = f"part-{version}.parquet"
        values = ", ".join(f"('o-{number}'::blob)" for number in numbers)
        duckdb.sql(f"copy (select * from (values {values}) as t (key)) to '{table / name}'")
        actions.append({"add": {"path": name}})
    file = log / f"{version:020}.json"
    file.write_text("\n".join(map(json.dumps, actions)))
    return file


def test_the_rows_of_a_commit_are_those_that_it_has_added(tmp_path: Path) -> None:
    """And not those of the table: each commit tells of its own."""
    commit(tmp_path, 0, [])
    first = commit(tmp_path, 1, [1, 2])
    second = commit(tmp_path, 2, [3])
    assert read_keys(tmp_path, first) == {b"o-1", b"o-2"}
    assert read_keys(tmp_path, second) == {b"o-3"}


def test_commits_are_read_until_every_order_has_landed(tmp_path: Path) -> None:
    """From a version on: what landed before is of another round, though its ids are the same."""
    commit(tmp_path, 0, [])
    commit(tmp_path, 1, [1, 2])
    assert next_version(tmp_path) == 2
    commit(tmp_path, 2, [2])
    commit(tmp_path, 3, [1])
    one, two = read_commits(tmp_path, 2, range(1, 3))
    assert two < one


def test_an_order_that_does_not_land_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says how many are missing, and which commit was waited for."""
    monkeypatch.setattr(landed, "LANDED_SECONDS", 0)
    commit(tmp_path, 0, [1])
    with pytest.raises(AssertionError, match=r"1 of 2 events have not landed.*0001\.json"):
        read_commits(tmp_path, 0, range(1, 3))
