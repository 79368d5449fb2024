"""Ten published defects, built in again one at a time: the checker finds each of them (PROVE=1)."""

from collections.abc import Iterator

import pytest

from lab.faults.defects import DEFECTS, Shown
from lab.faults.inspection import reconcile, subjects
from lab.faults.observe import EVERYTHING
from lab.faults.site import Site, running_site
from ops.settings import ROOT, Settings
from ops.stack.stack import silently

pytestmark = pytest.mark.prove


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """A stack whose data nobody needs."""
    settings = Settings(run_dir=ROOT / ".run" / "test", jars_dir=ROOT / ".run" / "jars")
    with running_site(settings, silently, "defects") as running:
        yield running


@pytest.fixture(scope="module")
def shown() -> dict[str, Shown]:
    """What each defect has left."""
    return {}


@pytest.mark.parametrize("name", DEFECTS)
def test_a_published_defect_is_found_by_the_checker(
    site: Site, shown: dict[str, Shown], name: str
) -> None:
    """Built into the real service or landing, it breaks the invariant that it is known for."""
    shown[name] = DEFECTS[name].build_in(site)
    invariants = {finding.invariant for finding in shown[name].findings}
    assert DEFECTS[name].invariant in invariants, shown[name].findings


def test_reconciliation_finds_eight_of_the_ten(site: Site, shown: dict[str, Shown]) -> None:
    """Those that lose, double or invent something; the other two leave every hop as it must be."""
    assert shown.keys() == DEFECTS.keys()
    _, findings = reconcile(site, print)
    found = {finding.subject for finding in findings}
    site.observer.look(EVERYTHING)
    site.observer.read_on()
    records = site.observer.records
    seen = {name for name, one in shown.items() if found & set(subjects(one.sent, records))}
    assert seen == {name for name, defect in DEFECTS.items() if defect.is_reconciled}
