"""`pipeline check` finds nothing in this repository that is not overlooked with a reason."""

import pytest

from ops.settings import ROOT
from pipeline_check.audit import Audit, audit, look
from pipeline_check.budget.audited import budgets
from pipeline_check.ignores import FILE, from_file
from pipeline_check.walk import files


@pytest.fixture(scope="module")
def own() -> Audit:
    """The repository, as whoever clones it audits it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        looked = look(files([ROOT.relative_to(ROOT)]), from_file(ROOT / FILE))
        return audit(looked, {}, list(budgets(looked.files)))


def test_this_repository_has_no_finding_without_a_reason(own: Audit) -> None:
    """Nothing is found that is not in the ignore file, and nothing is in the ignore file that is not found."""
    assert own.every() == []
    assert own.ignored


def test_every_producer_of_this_repository_is_idempotent(own: Audit) -> None:
    """The producer of the demo, the worker, and both outbox connectors."""
    assert {each.block.file for each in own.producers} >= {
        "ops/produce.py",
        "connect/worker.properties",
        "connect/fulfillment-outbox.json",
        "connect/audit-outbox.json",
    }
    assert {each.verdict for each in own.producers} == {"idempotent"}
