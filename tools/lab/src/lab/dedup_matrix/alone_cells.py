"""The second table of the dedup matrix: every anomaly on DynamoDB alone."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

from lab.dedup_matrix.alone import COLUMNS
from lab.dedup_matrix.alone_place import Place, make_place, other_service
from lab.dedup_matrix.alone_trial import AloneTrial, Deviation
from lab.dedup_matrix.anomalies import ANOMALIES
from lab.dedup_matrix.candidate import Backends

# A tally adds what each message says, and no message replaces another.
NOT_HERE = {"older_state"}


class AloneCell(NamedTuple):
    """What one anomaly did in one column."""

    anomaly: str
    column: str
    verdict: str
    effects: Deviation
    events: Deviation
    requests: Deviation
    declared: str  # keeps or breaks

    def as_json(self) -> dict[str, Any]:
        """Return the cell as a document has it."""
        kinds = ("effects", "events", "requests")
        return {**self._asdict(), **{kind: getattr(self, kind)._asdict() for kind in kinds}}


RunRow = Callable[[str], list[AloneCell]]


@contextmanager
def alone(backends: Backends, names: Sequence[str]) -> Iterator[RunRow]:
    """Open what the columns need; what is returned runs an anomaly in each of these columns."""

    @cache
    def place_of(name: str, subscriber: str) -> Place:
        del subscriber  # another one has tables of its own
        return make_place(COLUMNS[name], backends.bootstrap_servers)

    with other_service() as asked:

        def run(anomaly: str, name: str) -> AloneCell:
            trial = AloneTrial(
                backends, COLUMNS[name], asked, lambda subscriber: place_of(name, subscriber)
            )
            ANOMALIES[anomaly].happen(trial)
            counts = trial.count()
            return AloneCell(
                anomaly=anomaly,
                column=name,
                verdict=counts.word,
                **counts._asdict(),
                declared="breaks" if anomaly in COLUMNS[name].breaks else "keeps",
            )

        def run_row(anomaly: str) -> list[AloneCell]:
            if anomaly in NOT_HERE:
                return []
            with ThreadPoolExecutor(len(names)) as pool:
                return list(pool.map(lambda name: run(anomaly, name), names))

        yield run_row
