"""The committed page of the dedup matrix, cell by cell."""

from pathlib import Path

from lab.dedup_matrix.anomalies import ANOMALIES

PAGE = Path(__file__).parents[1] / "pages" / "dedup-matrix.md"
MAKE_PAGE = "run pipeline dedup-matrix --output tools/lab/pages/dedup-matrix.md"


def read_cells(table: int, titles: dict[str, str]) -> dict[tuple[str, str], str]:
    """Return the cells of the page's first or second table, by anomaly and column.

    The titles lead to the columns' names.
    """
    anomalies = {anomaly.title: name for name, anomaly in ANOMALIES.items()}
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    rows = [line.strip("| ").split(" | ") for line in lines]
    heads = [number for number, row in enumerate(rows) if row[0] == "anomaly"]
    begin, end = (*heads, len(rows))[table : table + 2]
    return {
        (anomalies[title], titles[column]): words
        for title, *cells in rows[begin + 1 : end]
        if title in anomalies
        for column, words in zip(rows[begin][1:], cells, strict=True)
    }
