"""DynamoDB alone on real servers: what each way to write survives, and what it asks for."""

from collections.abc import Iterator

import pytest

pytest.importorskip("extras.dynamodb.outbox", reason="extras/dynamodb is not here")

from lab.dedup_matrix.alone import COLUMNS
from lab.dedup_matrix.alone_cells import NOT_HERE, AloneCell, alone
from lab.dedup_matrix.alone_trial import Deviation
from lab.dedup_matrix.anomalies import ANOMALIES
from lab.dedup_matrix.candidate import Backends
from lab.dedup_matrix.page import in_brief
from tools.lab.tests.dedup_page import MAKE_PAGE, read_cells

Cells = dict[tuple[str, str], AloneCell]  # by anomaly and column
TRIED = [anomaly for anomaly in ANOMALIES if anomaly not in NOT_HERE]
GOOD = Deviation()


@pytest.fixture(scope="module")
def cells(backends: Backends) -> Iterator[Cells]:
    """All of them, each run once."""
    with alone(backends, list(COLUMNS)) as run_row:
        yield {(cell.anomaly, cell.column): cell for one in TRIED for cell in run_row(one)}


@pytest.mark.parametrize("anomaly", TRIED)
@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_survives_what_it_should_and_nothing_else(
    cells: Cells, name: str, anomaly: str
) -> None:
    """One effect and one event for each message where the column keeps its promise."""
    cell = cells[anomaly, name]
    found = "keeps" if cell.verdict == "survives" else "breaks"
    assert found == cell.declared, in_brief(cell.as_json())


@pytest.mark.parametrize("anomaly", ["two_workers", "slow_worker", "rebalance"])
def test_a_request_is_made_twice_where_effect_and_event_are_not(cells: Cells, anomaly: str) -> None:
    """The transaction keeps entity and event from a second time; nothing keeps the request.

    The control: with the claim put last, all three are there twice.
    """
    ours, control = cells[anomaly, "claimed"], cells[anomaly, "put_last"]
    assert (ours.effects, ours.events) == (GOOD, GOOD)
    assert ours.requests.doubled > 0
    assert control.effects == control.events == control.requests
    assert control.effects.doubled > 0


def test_who_looks_first_asks_once_for_three_deliveries(cells: Cells) -> None:
    """One after the other, a message that comes three times has one request in every column."""
    assert {cells["repeated", name].requests for name in COLUMNS} == {GOOD}


def test_put_first_loses_effect_and_event_of_what_a_crash_interrupts(cells: Cells) -> None:
    """And an event alone, if the crash comes between the two."""
    cell = cells["crash_before_effect", "put_first"]
    assert (cell.effects.lost, cell.events.lost) == (1, 2)


def test_the_committed_page_says_what_a_run_says(cells: Cells) -> None:
    """Verdict and counts of each cell are those of this run."""
    columns = {column.title: name for name, column in COLUMNS.items()}
    found = {at: in_brief(cell.as_json()) for at, cell in cells.items()}
    assert read_cells(1, columns) == found, MAKE_PAGE
