"""What two counted topics mean, and the table that shows them side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lab.prove.columns import columns
from lab.prove.count import Counts, total

LABELS = {
    "requests": "Produce requests",
    "lost": "answers lost",
    "failed": "given up",
    "seconds": "seconds",
}
WRONG = {
    "duplicated": "duplicated",
    "reordered": "out of order",
    "missing": "missing",
    "without_producer_id": "batches without a producer id",
    "gaps": "gaps in the sequence",
}


@dataclass(frozen=True)
class Arm:
    """One run of a client: with which settings, what the proxy did to it, and what is on its topic."""

    settings: Mapping[str, str]
    requests: int
    lost: int
    failed: int  # given up by the client, and told so
    seconds: float
    partitions: Mapping[int, Counts]

    def document(self) -> dict[str, Any]:
        """The same for a program."""
        counts = {str(partition): found._asdict() for partition, found in self.partitions.items()}
        return {**vars(self), "partitions": counts, "total": total(self.partitions)._asdict()}


def judge(with_settings: Arm, control: Arm, lost_acks: int) -> tuple[int, str]:
    """The exit code and the verdict; a proof that cannot fail is none."""
    found, without = total(with_settings.partitions), total(control.partitions)
    if not found.clean():
        wrong = {
            name: number for name, number in found._asdict().items() if number and name in WRONG
        }
        return 1, "NOT idempotent: " + ", ".join(
            f"{number:,} {WRONG[name]}" for name, number in wrong.items()
        )
    if not without.duplicated:
        return 2, "proved nothing: the control, without idempotence, has no duplicates either"
    if with_settings.lost < lost_acks:
        return (
            2,
            f"proved nothing: only {with_settings.lost:,} of {lost_acks:,} acknowledgements could be lost",
        )
    return 0, (
        f"idempotent: {found.records:,} records after {with_settings.lost:,} lost acknowledgements, none twice, "
        f"none missing, none out of order; without idempotence {without.duplicated:,} were duplicated"
    )


def lines(arms: Sequence[Arm]) -> list[str]:
    """A row for each count; of each arm its total, then its partitions."""
    heads = [
        [name, *map(str, arm.partitions)]
        for name, arm in zip(("settings", "control"), arms, strict=True)
    ]
    rows = [["", *(cell for head in heads for cell in head)]]
    for n, name in enumerate(Counts._fields):
        numbers = [
            [total(arm.partitions)[n], *(part[n] for part in arm.partitions.values())]
            for arm in arms
        ]
        rows.append([name.replace("_", " "), *(f"{number:,}" for arm in numbers for number in arm)])
    for name, label in LABELS.items():
        cells = [[f"{getattr(arm, name):,.0f}", *("" for _ in arm.partitions)] for arm in arms]
        rows.append([label, *(cell for arm in cells for cell in arm)])
    return columns(rows)
