"""The contract of the dedup stores, on real parts: every law on every store, those kept and those broken."""

from pathlib import Path

import pytest

from lab.dedup_matrix.anomalies import ANOMALIES
from lab.dedup_matrix.columns import STORES
from lab.dedup_matrix.command import Cell, run_all
from lab.dedup_matrix.page import in_words
from lab.dedup_matrix.stores import Place

PAGE = Path(__file__).parents[2] / "ops" / "truth" / "TRUTH-TABLE.md"
AFTER_A_REBALANCE = {
    "nothing": 2,
    "plain": 2,
    "dynamodb": 1,
    "tracking": 1,
}  # effects of one message


@pytest.fixture(scope="module")
def cells(place: Place) -> dict[tuple[str, str], Cell]:
    """All of them, each run once."""
    return {
        (law, cell.store): cell for law in ANOMALIES for cell in run_all(place, list(STORES), law)
    }


@pytest.mark.parametrize("law", ANOMALIES)
@pytest.mark.parametrize("name", STORES)
def test_a_store_keeps_and_breaks_the_laws_that_it_says(
    cells: dict[tuple[str, str], Cell], name: str, law: str
) -> None:
    """One effect for each message where the store keeps the law; another number where it says that it does not."""
    cell = cells[law, name]
    found = "keeps" if cell.verdict == "survives" else "breaks"
    assert found == cell.declared, (
        f"{name} says that it {cell.declared} {law}; it {in_words(cell._asdict())}"
    )


@pytest.mark.parametrize("law", ANOMALIES)
def test_every_anomaly_harms_some_store(cells: dict[tuple[str, str], Cell], law: str) -> None:
    """The control: there is no law that each store would keep, whatever it does."""
    assert {cell.verdict for (other, _), cell in cells.items() if other == law} - {"survives"}


@pytest.mark.parametrize(
    ("name", "effects"), [one for one in AFTER_A_REBALANCE.items() if one[0] in STORES]
)
def test_a_redelivery_after_a_forced_rebalance_has_one_effect(
    cells: dict[tuple[str, str], Cell], name: str, effects: int
) -> None:
    """The first call is slow and the poll interval exceeded: two without dedup and in the plain form, one in ours."""
    cell = cells["rebalance", name]
    assert (cell.doubled, cell.lost) == (effects - 1, 0)


def test_without_dedup_three_deliveries_have_three_effects(
    cells: dict[tuple[str, str], Cell],
) -> None:
    """The control of all controls: nothing but a dedup store keeps the effect from happening each time."""
    cell = cells["repeated", "nothing"]
    assert (cell.doubled, cell.lost) == (2, 0)


def test_the_default_breaks_no_law_but_those_of_memory(cells: dict[tuple[str, str], Cell]) -> None:
    """Only what is forgotten comes twice, and nothing is ever lost."""
    broken = {law: cell.verdict for (law, name), cell in cells.items() if name == "tracking"}
    assert {law for law, verdict in broken.items() if verdict != "survives"} == {
        "store_lost",
        "retention",
    }
    assert "loses" not in broken.values()


def test_the_committed_page_says_what_a_run_says(cells: dict[tuple[str, str], Cell]) -> None:
    """Each verdict on the page is the verdict of this run."""
    [head, _, *rows] = [
        line.strip("| ").split(" | ") for line in PAGE.read_text().splitlines() if line[:2] == "| "
    ]
    name_of = {store.title: name for name, store in STORES.items()}
    law_of = {anomaly.title: law for law, anomaly in ANOMALIES.items()}
    said = {
        (law_of[title], name_of[store]): words.split()[0]
        for title, *line in rows
        if title in law_of
        for store, words in zip(head[1:], line, strict=True)
    }
    assert said == {at: cell.verdict for at, cell in cells.items()}, (
        "run pipeline truth-table --output"
    )
