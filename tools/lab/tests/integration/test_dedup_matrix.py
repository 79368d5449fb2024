"""The contract of the dedup stores on real servers: what each survives, and what each does not."""

import pytest

from lab.dedup_matrix.anomalies import ANOMALIES
from lab.dedup_matrix.candidate import Backends
from lab.dedup_matrix.command import Cell, run_all
from lab.dedup_matrix.page import in_words
from lab.dedup_matrix.stores import STORES
from tools.lab.tests.dedup_page import MAKE_PAGE, read_cells

Cells = dict[tuple[str, str], Cell]  # by anomaly and store
# How often one message has its effect.
EFFECTS_AFTER_A_REBALANCE = {
    "nothing": 2,
    "plain": 2,
    "dynamodb": 1,
    "tracking": 1,
}


@pytest.fixture(scope="module")
def cells(backends: Backends) -> Cells:
    """All of them, each run once."""
    found = {}
    for anomaly in ANOMALIES:
        for cell in run_all(backends, list(STORES), anomaly):
            found[anomaly, cell.store] = cell
    return found


@pytest.mark.parametrize("anomaly", ANOMALIES)
@pytest.mark.parametrize("name", STORES)
def test_a_store_survives_what_it_should_and_nothing_else(
    cells: Cells, name: str, anomaly: str
) -> None:
    """One effect for each message where the store keeps its promise, another number elsewhere."""
    cell = cells[anomaly, name]
    found = "keeps" if cell.verdict == "survives" else "breaks"
    assert found == cell.declared, (
        f"{name}: {anomaly}: declared {cell.declared}; it {in_words(cell._asdict())}"
    )


@pytest.mark.parametrize("anomaly", ANOMALIES)
def test_every_anomaly_harms_some_store(cells: Cells, anomaly: str) -> None:
    """The control: no anomaly leaves every store unharmed."""
    verdicts = {cell.verdict for (other, _), cell in cells.items() if other == anomaly}
    assert verdicts - {"survives"}


@pytest.mark.parametrize(
    ("name", "effects"),
    [one for one in EFFECTS_AFTER_A_REBALANCE.items() if one[0] in STORES],
)
def test_a_redelivery_after_a_forced_rebalance_has_one_effect(
    cells: Cells, name: str, effects: int
) -> None:
    """After a missed poll: two effects without dedup and in the usual form, one in ours."""
    cell = cells["rebalance", name]
    assert (cell.doubled, cell.lost) == (effects - 1, 0)


def test_without_dedup_three_deliveries_have_three_effects(cells: Cells) -> None:
    """The control of all controls: only a dedup store keeps the effect from happening each time."""
    cell = cells["repeated", "nothing"]
    assert (cell.doubled, cell.lost) == (2, 0)


def test_the_default_breaks_only_by_forgetting(cells: Cells) -> None:
    """With tracking only what is forgotten comes twice, and nothing is ever lost.

    It does not know which of two messages is newer: where one replaces the other, the last wins.
    """
    verdicts = {
        anomaly: cell.verdict for (anomaly, name), cell in cells.items() if name == "tracking"
    }
    broken = {anomaly for anomaly, verdict in verdicts.items() if verdict != "survives"}
    assert broken == {"store_lost", "retention", "older_state"}
    assert "loses" not in verdicts.values()


def test_the_committed_page_says_what_a_run_says(cells: Cells) -> None:
    """Each verdict on the page is the verdict of this run."""
    stores = {store.title: name for name, store in STORES.items()}
    on_the_page = {at: words.split()[0] for at, words in read_cells(0, stores).items()}
    found = {at: cell.verdict for at, cell in cells.items()}
    assert on_the_page == found, MAKE_PAGE
