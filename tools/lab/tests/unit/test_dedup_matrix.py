"""The truth table's page and command, without a process."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from lab.dedup_matrix import page
from lab.dedup_matrix.anomalies import ANOMALIES
from lab.dedup_matrix.columns import STORES
from lab.dedup_matrix.command import is_as_declared, truth_table
from lab.dedup_matrix.effect import Moments, write
from lab.dedup_matrix.trial import Verdict
from ops.settings import Settings
from ops.stack.supervisor import StackError
from service.dedup import load_store

NO_ENGINE: Any = None


def document(**changes: Any) -> dict[str, Any]:
    """What a run of every cell gives."""
    cell = {"verdict": "survives", "doubled": 0, "lost": 0, "declared": "keeps"} | changes
    cells = [{"anomaly": law, "store": name, **cell} for law in ANOMALIES for name in STORES]
    costs = [
        {"store": name, "requests": {"Postgres": 1}, "bytes": 209.4, "speed": 1.234}
        for name in STORES
    ]
    return {"machine": "two cores", "rounds": 5, "cells": cells, "costs": costs}


@pytest.mark.parametrize("name", STORES)
def test_a_store_names_no_law_that_is_never_tried(name: str) -> None:
    """What a store breaks is a row of the table: a misspelt law would be one that it seems to keep."""
    assert set(ANOMALIES) >= STORES[name].breaks


@pytest.mark.parametrize(
    ("doubled", "lost", "word"), [(0, 0, "survives"), (2, 0, "duplicates"), (2, 1, "loses")]
)
def test_a_loss_is_worse_than_a_double(doubled: int, lost: int, word: str) -> None:
    """The word is that of the worst thing that happened."""
    assert Verdict(doubled, lost).word == word


def test_a_store_that_does_other_than_it_says_is_found() -> None:
    """A kept law that was declared broken counts as much as a broken one that was declared kept."""
    assert is_as_declared(document())
    assert not is_as_declared(document(declared="breaks"))
    assert not is_as_declared(document(verdict="loses", lost=1))
    assert is_as_declared(document(verdict="loses", lost=1, declared="breaks"))


def test_the_page_names_every_cell_and_every_cost(tmp_path: Path) -> None:
    """Markdown and picture have a line for each anomaly and a column for each store."""
    page.write(document(verdict="loses", doubled=2, lost=1), tmp_path / "page.md")
    text, picture = (tmp_path / "page.md").read_text(), (tmp_path / "page.html").read_text()
    assert text.count("loses +2 −1") == len(ANOMALIES) * len(STORES)  # noqa: RUF001
    assert picture.count('<td class="loses"') == len(ANOMALIES) * len(STORES)
    for store in STORES.values():
        assert store.title in text
        assert store.choose_it in text
        assert store.title in picture
    assert "1.2 |" in text
    assert "[as a picture](page.html)" in text


@pytest.mark.parametrize(
    ("stores", "anomalies", "named"), [(["lookup"], [], "--stores"), ([], ["rain"], "--anomalies")]
)
def test_an_unknown_name_is_told_before_anything_is_started(
    stores: list[str], anomalies: list[str], named: str
) -> None:
    """The sentence names the option, and what there is."""
    with pytest.raises(
        StackError,
        match=f"{named}: there is no (lookup|rain): choose among (nothing, apart|repeated)",
    ):
        truth_table(Settings(), lambda _: None, stores, anomalies, 0, None)  # type: ignore[arg-type, return-value]


def test_an_unknown_store_ends_the_service_with_a_sentence() -> None:
    """DEDUP_STORE is named, and so is what there is."""
    with pytest.raises(
        SystemExit, match=r"DEDUP_STORE=lookup: there is no such store, only .*tracking"
    ):
        load_store("lookup").make_store(partial(write, NO_ENGINE, "nobody", Moments()))
