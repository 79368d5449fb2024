"""How right the audit is on public configurations: `python -m tests.field.score FOLDER`.

The table beside this says what a careful reader expects of each; nobody changed that later. The
files themselves are not here: FOLDER has, for each case, a folder of its name with the files of the
repository at that commit that decide the matter, under their own paths.
"""

import csv
import os
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pipeline_check.audit import Audit, audit, read_sources
from pipeline_check.reading.builds import builds_in, version_near
from pipeline_check.walk import files

TABLE = Path(__file__).with_name("cases.csv")
PRODUCING = {"producer", "worker", "connector", "other"}
NOT_JUDGED = {"client-not-judged", "outbox-not-judged"}
PARTS = ("worked on", "held out", "collected later", "collected last", "collected at the end")
SAME = {"transactional": "idempotent", "not idempotent": "not_idempotent"}


class Case(NamedTuple):
    """A configuration, and what is expected of it."""

    name: str
    repository: str
    path: str
    line: int
    kind: str
    verdict: str  # empty if it is no producer's
    rules: frozenset[str]

    @property
    def part(self) -> str:
        """Return to which part it belongs: nobody looked at the last ones before the end."""
        later = {"C": PARTS[2], "D": PARTS[3], "E": PARTS[4]}.get(self.name[0])
        if later:
            return later
        is_held_out = zlib.crc32(self.repository.encode()) % 3 == 0
        return PARTS[1] if is_held_out else PARTS[0]


class Answer(NamedTuple):
    """What the audit says of a case."""

    verdict: str
    missing: frozenset[str]


def cases() -> Iterator[Case]:
    """Yield every case of the table."""
    with TABLE.open(newline="", encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            rules = {rule for rule in row["rules"].split() if rule != "none" and ":" not in rule}
            verdict = row["verdict"].strip()
            yield Case(
                row["case"],
                row["repository"],
                row["path"],
                int(row["line"] or 1),
                row["kind"],
                SAME.get(verdict, verdict),
                frozenset(rules),
            )


def answer(case: Case, folder: Path) -> Answer:
    """Audit the files of a case, and find what is said of it."""
    os.chdir(folder / case.name)
    builds_in.cache_clear()
    found = audit(read_sources(files([Path()]), []), {}, (), version_near)
    here = [each for each in found.every() if each.file == case.path]
    missing = case.rules - {each.id for each in here}
    return Answer(verdict_of(case, found), frozenset(missing))


def verdict_of(case: Case, found: Audit) -> str:
    """Return the verdict on the producer that is nearest to a case, in its file."""
    if case.kind not in PRODUCING:
        return ""
    producers = [each for each in found.producers if each.block.file == case.path]
    nearest = min(producers, key=lambda each: abs(each.block.line - case.line), default=None)
    if nearest:
        return nearest.verdict
    is_named = any(each.file == case.path and each.id in NOT_JUDGED for each in found.every())
    return "not judged" if is_named else ""


def score(folder: Path, part: str) -> None:
    """Print how many are right, which are not, and the confusion of the verdicts."""
    confusion: Counter[tuple[str, str]] = Counter()
    right = 0
    chosen = [case for case in cases() if case.part == part]
    for case in chosen:
        said = answer(case, folder)
        is_right = said.verdict == case.verdict or not case.verdict
        right += is_right and not said.missing
        confusion[case.verdict or "-", said.verdict or "-"] += 1
        if not is_right or said.missing:
            print(case.name, f"{case.path}:{case.line}", case.verdict, said)
    print(f"{part}: {right} of {len(chosen)}")
    for (expected, verdict), count in sorted(confusion.items()):
        print(f"{count:>5}  expected {expected}, said {verdict}")


if __name__ == "__main__":
    root = Path(sys.argv[1]).absolute()
    for each in PARTS:
        score(root, each)
