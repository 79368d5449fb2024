"""A slice of the matrix that touches every part.

With PROVE=1 the slice is longer, the reconciliation looks at all that it has left, and mutants are
planted that both judges must find.
"""

import random
from collections.abc import Iterator

import pytest

from lab.faults.cells import Cell, all_cells
from lab.faults.facts import Sent
from lab.faults.inspection import inspect, reconcile, subjects
from lab.faults.judge import judge
from lab.faults.mutants import MUTANTS, swallow_a_commit
from lab.faults.observe import EVERYTHING
from lab.faults.site import Site, running_site
from lab.faults.trial import run_cell, settle
from ops.settings import ROOT, Settings
from ops.stack.stack import silently

SEED = 1
# One for each part; the landing is at work for the last ones.
SLICE = (
    "service.after-write.kill",
    "audit.to-postgres.lost-answer",
    "connect.to-kafka.lost-answer",
    "kafka.from-producer.lost-answer",
    "postgres.any-moment.kill",
    pytest.param("kafka.any-moment.kill", marks=pytest.mark.prove),
    "land.after-append.kill",
    pytest.param("everything.all-hops.cut", marks=pytest.mark.prove),
)
CELLS = {cell.name: cell for cell in all_cells()}
MUTANT_SEEDS = (1, 2)


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """A stack whose hops are wires."""
    settings = Settings(run_dir=ROOT / ".run" / "test", jars_dir=ROOT / ".run" / "jars")
    with running_site(settings, silently) as running:
        yield running


@pytest.fixture(scope="module")
def sent() -> list[Sent]:
    """What all tests of this file have sent."""
    return []


@pytest.mark.parametrize("name", SLICE)
def test_a_part_that_breaks_loses_and_doubles_nothing(
    site: Site, sent: list[Sent], name: str
) -> None:
    """The fault strikes under load, and afterwards everything is in its place once."""
    cell: Cell = CELLS[name]
    run, own = run_cell(site, cell, SEED)
    sent += own
    assert run.findings == []
    assert run.hits > 0, "it never struck: this proved nothing"


@pytest.mark.prove
def test_reconciliation_and_the_checker_find_nothing_after_all_that(
    site: Site, sent: list[Sent]
) -> None:
    """All cells together, every hop, table, topic and landed row."""
    verdict, findings = inspect(site, sent, print)
    assert findings == []
    assert "nothing lost, nothing doubled" in verdict


@pytest.mark.prove
def test_every_mutant_is_found_by_the_checker_and_by_reconciliation(
    site: Site, sent: list[Sent]
) -> None:
    """Six kinds of defects, planted where the seed says: each is found by both."""
    assert sent, "the cells come first: their orders are the victims"
    site.stop_landing()
    site.observer.look(EVERYTHING)
    assert settle(site, sent, landed=False).findings == []  # so that it is the defect that is found
    planted = plant(site, sent)
    _, found = reconcile(site, print)
    theirs = {finding.subject for finding in found}
    site.observer.look(EVERYTHING)
    ours = {finding.subject for finding in judge(site.observer.read(sent, landed=True))}
    for name, victims in planted.items():
        names = set(subjects(victims, site.observer.records))
        assert names & ours, f"{name}: the checker has not found it"
        assert names & theirs, f"{name}: reconciliation has not found it"


def plant(site: Site, sent: list[Sent]) -> dict[str, list[Sent]]:
    """Plant each mutant once for each seed, on orders of its own; return their victims.

    A transaction that is swallowed takes its neighbours along, so those come last.
    """
    spoiled = {one.sample.order_id for one in sent if one.sample.kind != "order"}
    orders = [one for one in sent if one.sample.order_id not in spoiled]
    far_apart = iter([orders[len(orders) // 2], orders[-1]])
    neighbours = iter(orders)
    planted = {}
    by_reach = sorted(MUTANTS.items(), key=lambda mutant: mutant[1] is swallow_a_commit)
    for name, spoil in by_reach:
        for seed in MUTANT_SEEDS:
            swallows = spoil is swallow_a_commit
            victims = [next(far_apart)] if swallows else [next(neighbours), next(neighbours)]
            rng = random.Random(f"{name}/{seed}")  # noqa: S311 - repeatable, not secret
            more = spoil(site, victims, rng)
            sent += more
            planted[f"{name}, seed {seed}"] = [*victims, *more]
    return planted
