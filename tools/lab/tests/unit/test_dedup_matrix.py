"""The dedup matrix's pages and command, without a process."""

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from lab.dedup_matrix import page
from lab.dedup_matrix.anomalies import ANOMALIES
from lab.dedup_matrix.command import alone_columns, dedup_matrix, is_as_declared
from lab.dedup_matrix.stores import CONTROLS, STORES
from lab.dedup_matrix.trial import Verdict
from ops.settings import Settings
from ops.stack.supervisor import StackError
from service.dedup import load_store, stores

NO_ENGINE: Any = None
NO_STEP: Callable[[str], AbstractContextManager[Any]] = lambda _: pytest.fail("it was started")  # noqa: E731
COMMITTED = Path(__file__).parents[2] / "pages" / "dedup-matrix.md"


def document(**changes: Any) -> dict[str, Any]:
    """Return what a run of every cell gives."""
    cell = {"verdict": "survives", "doubled": 0, "lost": 0, "declared": "keeps"} | changes
    cells = [
        {"anomaly": anomaly, "store": name, **cell} for anomaly in ANOMALIES for name in STORES
    ]
    cost = {"requests": {"Postgres": 1}, "bytes": 209.4, "speed": 1.234}
    costs = [{"store": name, **cost} for name in STORES]
    return {
        "machine": "two cores",
        "rounds": 5,
        "cells": cells,
        "costs": costs,
        "alone": alone_cells(declared=str(cell["declared"])),
    }


def alone_cells(declared: str) -> list[dict[str, Any]]:
    """Return every cell of DynamoDB alone: each has an event too many and a request too few."""
    one = {"doubled": 1, "lost": 0}
    counts = {
        "effects": {"doubled": 0, "lost": 0},
        "events": one,
        "requests": {"doubled": 0, "lost": 2},
    }
    verdict = "survives" if declared == "keeps" else "duplicates"
    return [
        {"anomaly": anomaly, "column": name, "verdict": verdict, "declared": declared, **counts}
        for anomaly in ANOMALIES
        if anomaly != "older_state"
        for name in alone_columns()
    ]


@pytest.mark.parametrize("name", STORES)
def test_a_store_breaks_no_anomaly_that_is_never_tried(name: str) -> None:
    """What a store breaks is a row of the matrix: a misspelt one would seem to be survived."""
    assert set(ANOMALIES) >= STORES[name].breaks


def test_every_store_that_is_here_is_a_column() -> None:
    """A store that somebody adds to the service or the extras is tried, or this test fails."""
    assert set(stores()) <= set(STORES) - set(CONTROLS)


@pytest.mark.parametrize(
    ("doubled", "lost", "word"),
    [(0, 0, "survives"), (2, 0, "duplicates"), (2, 1, "loses")],
)
def test_a_loss_is_worse_than_a_double(doubled: int, lost: int, word: str) -> None:
    """The word is that of the worst thing that happened."""
    assert Verdict(doubled, lost).word == word


def test_a_store_that_does_other_than_it_says_is_found() -> None:
    """A kept promise that was declared broken counts as much as the other way round."""
    assert is_as_declared(document())
    assert not is_as_declared(document(declared="breaks"))
    assert not is_as_declared(document(verdict="loses", lost=1))
    assert is_as_declared(document(verdict="loses", lost=1, declared="breaks"))


@pytest.mark.skipif(not alone_columns(), reason="extras/dynamodb is not here")
def test_a_column_that_does_other_than_it_says_is_found() -> None:
    """The columns without Postgres count as much."""
    found = document()
    found["alone"][0]["verdict"] = "loses"
    assert not is_as_declared(found)


def test_the_page_names_every_cell_and_every_cost(tmp_path: Path) -> None:
    """Markdown and picture have a line for each anomaly and a column for each store."""
    page.write(document(verdict="loses", doubled=2, lost=1), tmp_path / "page.md")
    text = (tmp_path / "page.md").read_text()
    picture = (tmp_path / "page.html").read_text()
    cells = len(ANOMALIES) * len(STORES)
    assert text.count("loses +2 −1") == cells  # noqa: RUF001
    assert picture.count('<td class="loses"') == cells
    for store in STORES.values():
        assert store.title in text
        assert store.choose_it in text
        assert store.title in picture
    alone = document()["alone"]
    assert text.count("survives: +1 event, −2 requests") == len(alone)  # noqa: RUF001
    assert picture.count("+1 event, −2 requests") == len(alone)  # noqa: RUF001
    assert "1.2 |" in text
    assert "[as a picture](page.html)" in text


def test_the_committed_page_has_the_words_of_the_code(tmp_path: Path) -> None:
    """Introduction, titles and advice are those of the code; only numbers may differ."""
    page.write(document(), tmp_path / "dedup-matrix.md")
    made = (tmp_path / "dedup-matrix.md").read_text().splitlines()
    committed = COMMITTED.read_text().splitlines()
    assert [line.split(" | ")[0] for line in committed[:-1]] == [
        line.split(" | ")[0] for line in made[:-1]
    ]


@pytest.mark.parametrize(
    ("chosen_stores", "anomalies", "sentence"),
    [
        (["lookup"], [], "--stores: there is no lookup: choose among nothing"),
        ([], ["rain"], "--anomalies: there is no rain: choose among repeated"),
    ],
)
def test_an_unknown_name_is_refused_before_anything_is_started(
    chosen_stores: list[str], anomalies: list[str], sentence: str
) -> None:
    """The sentence names the option, and what there is."""
    with pytest.raises(StackError, match=sentence):
        dedup_matrix(Settings(), NO_STEP, chosen_stores, anomalies, 0, None)


def test_an_unknown_store_ends_the_service_with_a_sentence(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """DEDUP_STORE is named, and so is what there is."""
    with pytest.raises(SystemExit) as ended:
        load_store("lookup")
    assert ended.value.code == 2
    sentence = capsys.readouterr().err
    assert re.match("DEDUP_STORE=lookup: there is no such store, only .*tracking", sentence)
