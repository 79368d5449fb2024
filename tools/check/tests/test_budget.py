"""Budgets: each inequality can hold and fail, and what cannot be read is reported."""

from pathlib import Path

import pytest

from pipeline_check.budget.amounts import DEFAULTS, KINDS, format_amount, parse_amount
from pipeline_check.budget.inequalities import INEQUALITIES
from pipeline_check.budget.intent import IntentError, read_intent
from pipeline_check.budget.judge import judge_budget, print_budget

INTENT = Path(__file__).parent / "budget" / "pyproject.toml"
TIGHT = {  # the larger side at exactly the smaller one's value
    "poll_interval=30s": (
        "batch=1 attempts=1 timeout=5s back_off=0 statements=2 database_timeout=5s margin=2"
    ),
    "timeout=5s": "receiver_timeout=4s",
    "lease=11s": "p99=10s",
    "stop_grace=11s": "drain=10s",
    "delivery_timeout=1h": "outage=1h",
    "dedup_retention=20d": (
        "topic_retention=7d dead_letter_age=3d longest_replay=9d connect_outage=1d"
    ),
    "outbox_retention=7d": "reconciled_age=7d",
    "audit_key_lifetime=7d": "redelivery_window=7d",
    "slot_keep_size=3600MB": "write_rate=1MB/s connect_outage=1h",
}


def test_sums_that_hold_make_no_finding() -> None:
    """Every inequality whose numbers are given is judged; the one without any is not asked."""
    lines, findings = judge_budget(INTENT)
    assert findings == []
    assert [line for line in lines if line.startswith("not ")] == [
        "not asked  budget-lease: lease > p99"
    ]
    assert sum(line.startswith("holds ") for line in lines) == len(INEQUALITIES) - 1


def test_the_numbers_are_those_of_the_files() -> None:
    """What the intent reads from a file is what that file sets, in one unit."""
    given = read_intent(INTENT)
    assert (given["poll_interval"], given["timeout"], given["stop_grace"]) == (300, 5, 20)
    assert (given["topic_retention"], given["dead_letter_age"]) == (7 * 86_400, 30 * 86_400)
    assert given["slot_keep_size"] == 4 * 1024**3


@pytest.mark.parametrize("larger", TIGHT)
def test_an_inequality_fails_when_its_larger_side_shrinks(larger: str, tmp_path: Path) -> None:
    """It holds with the least that is enough; an eighth of that is one finding, with a fix."""
    flags = TIGHT[larger].split()
    name = larger.partition("=")[0]
    _, holding = judge_budget(tmp_path / "none.toml", [larger, *flags])
    assert [finding for finding in holding if finding.id != "budget-incomplete"] == []
    less = read_intent(tmp_path / "none.toml", [larger])[name] / 8
    unit = "B" if KINDS[name] == "size" else "s"
    lines, found = judge_budget(tmp_path / "none.toml", [f"{name}={less:.3f}{unit}", *flags])
    broken = [finding for finding in found if finding.id != "budget-incomplete"]
    assert len(broken) == 1
    assert name in broken[0].fix
    assert format_amount(less, KINDS[name]) in broken[0].message
    assert any(line.startswith("FAILS") for line in lines)


def test_every_inequality_is_tried() -> None:
    """None of them is left out above, and each name of a formula is known."""
    assert len(TIGHT) == len(INEQUALITIES)
    assert {name for one in INEQUALITIES for name in one.names} == KINDS.keys()
    assert DEFAULTS.keys() <= KINDS.keys()


def test_a_number_that_is_missing_is_named() -> None:
    """Half of an inequality is not judged, and the finding names what lacks and how to write it."""
    _, found = judge_budget(Path("none.toml"), ["drain=5s"])
    assert [(one.id, one.fix) for one in found] == [("budget-incomplete", 'stop_grace = "30s"')]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("stop_grace = 'soon'", "soon"),
        ("stop_grase = '5s'", "knows no stop_grase"),
        ("drain = '1'\n[", "toml"),
    ],
)
def test_an_intent_that_cannot_be_read_is_said(text: str, reason: str, tmp_path: Path) -> None:
    """The file, the name and the way out are in one sentence, and the exit code is 2."""
    file = tmp_path / "intent.toml"
    file.write_text(f"[budget]\n{text}\n")
    with pytest.raises(IntentError, match=reason):
        read_intent(file)
    assert print_budget([str(file)]) == 2


@pytest.mark.parametrize("reference", ["none.py#x", "intent.toml#x", "a.json#a/b"])
def test_a_reference_that_leads_nowhere_is_said(reference: str, tmp_path: Path) -> None:
    """A file that is not there, or does not set the key, is named."""
    (tmp_path / "a.json").write_text('{"a": {}}')
    file = tmp_path / "intent.toml"
    file.write_text(f'[budget]\ndrain = "{reference}"\n')
    with pytest.raises(IntentError, match="drain"):
        read_intent(file)


@pytest.mark.parametrize(
    ("text", "kind", "seconds", "again"),
    [
        ("90s", "time", 90, "1 min 30 s"),
        ("7d", "time", 604_800, "7 d"),
        ("4GB", "size", 4 * 1024**3, "4 GB"),
        ("1.5MB/s", "rate", 1.5 * 1024**2, "1.5 MB/s"),
        ("500", "count", 500, "500"),
        ("0", "time", 0, "0"),
        ("forever", "time", float("inf"), "forever"),
    ],
)
def test_an_amount_is_read_and_told_alike(text: str, kind: str, seconds: float, again: str) -> None:
    """What people write comes back as people write it."""
    amount = parse_amount(text, kind, {"time": "s", "count": ""}.get(kind, "B"))
    assert amount == seconds
    assert format_amount(amount, kind) == again


def test_the_exit_code_says_whether_the_sums_hold(capsys: pytest.CaptureFixture[str]) -> None:
    """0 when all hold, 1 when one does not, and every inequality is printed with its numbers."""
    assert print_budget([str(INTENT)]) == 0
    assert "5 min >= 2 * (1 * (2 * 5 s + 0 + 6 * 5 s) + 1 min)" in capsys.readouterr().out
    assert print_budget([str(INTENT), "stop_grace=5s"]) == 1
    assert print_budget(["none.toml"]) == 2
