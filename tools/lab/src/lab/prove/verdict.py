"""What two counted topics mean, and the table that shows them side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lab.prove.columns import align_columns
from lab.prove.count import Counts, total
from lab.prove.job import TRANSACTIONAL

RUN_TITLES = {
    "requests": "Produce requests",
    "lost": "answers lost",
    "failed": "given up",
    "seconds": "seconds",
}
WRONG_TITLES = {
    "duplicated": "duplicated",
    "reordered": "out of order",
    "missing": "missing",
    "without_producer_id": "batches without a producer id",
    "gaps": "gaps in the sequence",
    "taken_back": "of aborted transactions",
}
NO_PROOF = "proved nothing"
WITHOUT = {"idempotent": "idempotence", "transactional": "transactions"}


@dataclass(frozen=True)
class Arm:
    """One run of a client: its settings, what the proxy did to it, and what is on its topic."""

    settings: Mapping[str, str]
    requests: int
    lost: int
    failed: int  # given up by the client, which reported it
    seconds: float
    partitions: Mapping[int, Counts]

    def document(self) -> dict[str, Any]:
        """Return the same for a program."""
        partitions = {str(number): counts._asdict() for number, counts in self.partitions.items()}
        totals = total(self.partitions)._asdict()
        return {**vars(self), "partitions": partitions, "total": totals}


def judge(with_settings: Arm, control: Arm, lost_acks: int) -> tuple[int, str]:
    """Return the exit code and the verdict; a proof that cannot fail is none."""
    found = total(with_settings.partitions)
    without = total(control.partitions)
    kind = "transactional" if TRANSACTIONAL in with_settings.settings else "idempotent"
    wrong = found.wrong()
    if wrong:
        parts = [f"{count:,} {WRONG_TITLES[name]}" for name, count in wrong.items()]
        return 1, f"NOT {kind}: {', '.join(parts)}"
    if not without.duplicated:
        return 2, f"{NO_PROOF}: the control, without idempotence, has no duplicates either"
    if kind == "transactional" and not without.taken_back:
        return 2, f"{NO_PROOF}: the control, without transactions, shows nothing that was aborted"
    lost = with_settings.lost
    if lost < lost_acks:
        return 2, f"{NO_PROOF}: only {lost:,} of {lost_acks:,} acknowledgements could be lost"
    aborted = ""
    if kind == "transactional":
        aborted = f" and {without.taken_back:,} that were to be aborted could be read"
    return 0, (
        f"{kind}: {found.records:,} records after {lost:,} lost acknowledgements, none twice, "
        f"none missing, none out of order; "
        f"without {WITHOUT[kind]} {without.duplicated:,} were duplicated{aborted}"
    )


def lines(arms: Sequence[Arm]) -> list[str]:
    """Return a row for each count; for each arm first its total, then its partitions."""
    head = [""]
    for name, arm in zip(("settings", "control"), arms, strict=True):
        head += [name, *(str(partition) for partition in arm.partitions)]
    rows = [head]
    for name in Counts._fields:
        title = name.replace("_", " ")
        rows.append([title, *count_cells(arms, name)])
    for name, title in RUN_TITLES.items():
        rows.append([title, *run_cells(arms, name)])
    return align_columns(rows)


def count_cells(arms: Sequence[Arm], name: str) -> list[str]:
    """Return one count of each arm and of its partitions."""
    cells = []
    for arm in arms:
        columns = [total(arm.partitions), *arm.partitions.values()]
        cells += [f"{getattr(counts, name):,}" for counts in columns]
    return cells


def run_cells(arms: Sequence[Arm], name: str) -> list[str]:
    """Return what is known of each arm as a whole; its partitions have nothing."""
    cells = []
    for arm in arms:
        cells.append(f"{getattr(arm, name):,.0f}")
        cells += [""] * len(arm.partitions)
    return cells
