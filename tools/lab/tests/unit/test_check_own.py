"""`pipeline check` on this repository: what it finds here is ignored with a reason, or fixed."""

import fnmatch
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from ops.settings import ROOT
from pipeline_check.audit import Audit, audit, read_sources
from pipeline_check.budget.amounts import DEFAULTS
from pipeline_check.budget.inequalities import INEQUALITIES
from pipeline_check.budget.intent import read_intent
from pipeline_check.budget.judge import find_in_budgets, judge_budget
from pipeline_check.connector.lint import lint
from pipeline_check.ignores import FILE, read_ignore_file
from pipeline_check.reading.read import read
from pipeline_check.walk import files
from service.settings import Settings

INTENT = ROOT / "pyproject.toml"


@pytest.fixture(scope="module")
def own() -> Iterator[Audit]:
    """Audit the repository as someone does who has just cloned it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        sources = read_sources(files([Path()]), read_ignore_file(ROOT / FILE))
        yield audit(sources, {}, list(find_in_budgets(sources.files)))


def test_this_repository_has_no_finding_without_a_reason(own: Audit) -> None:
    """Every finding is in the ignore file, and the ignore file has no line without a finding."""
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


def test_every_pattern_of_the_ignore_file_matches_a_file() -> None:
    """A pattern that outlived a move would say nothing about what it once covered."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        names = [str(path) for path, _ in files([Path()])]
    for ignore in read_ignore_file(ROOT / FILE):
        assert ignore.reason
        assert fnmatch.filter(names, ignore.files), ignore.files


def test_our_connectors_pass() -> None:
    """Both connectors, beside the worker, the topics and the migrations, have no finding at all."""
    connectors = sorted((ROOT / "connect").glob("*-outbox.json"))
    assert len(connectors) == 2
    beside = [ROOT / "connect" / name for name in ("worker.properties", "topics.json")]
    blocks = [block for file in [*connectors, *beside] for block in read(file)]
    sql = [(ROOT / "migrations" / "outbox.py").read_text()]
    assert lint(blocks, sql) == []


def test_our_own_sums_hold() -> None:
    """Every inequality whose numbers this template has is judged, and holds."""
    lines, findings = judge_budget(INTENT)
    assert findings == []
    assert [line for line in lines if line.startswith("not ")] == [
        "not asked  budget-lease: lease > p99"
    ]
    assert sum(line.startswith("holds ") for line in lines) == len(INEQUALITIES) - 1


def test_our_numbers_are_the_real_ones() -> None:
    """What the intent reads from a file is what that file sets, in one unit."""
    given = read_intent(INTENT)
    assert (given["poll_interval"], given["timeout"], given["stop_grace"]) == (300, 5, 20)
    assert (given["topic_retention"], given["dead_letter_age"]) == (7 * 86_400, 30 * 86_400)
    assert given["slot_keep_size"] == 4 * 1024**3


def test_the_budget_counts_the_same_steps() -> None:
    """What `pipeline check` sums up is what the service sums up for itself, but for the window."""
    poll = next(one for one in INEQUALITIES if one.id == "budget-poll-interval")
    interval, worst = poll.sides(DEFAULTS | read_intent(INTENT))
    settings = Settings()
    assert interval * 1000 == settings.max_poll_interval_ms
    without_window = settings.worst_batch_seconds - settings.batch_window_ms / 1000
    assert worst == pytest.approx(2 * without_window)


def test_the_pre_commit_hook_starts_the_auditor() -> None:
    """The hook that other repositories name is a script of tools/check that may be executed."""
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert hook["language"] == "script"
    assert Path(hook["entry"]).parent == Path("tools/check")
    assert os.access(ROOT / hook["entry"], os.X_OK)
