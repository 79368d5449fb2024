"""A ratio that has fallen since an earlier run is named; one that was not measured, too."""

import json
from pathlib import Path
from typing import Any

import pytest

from lab.bench import command
from lab.bench.against import compare_with, lines, read_ratios
from lab.bench.command import ARMS, bench, is_good
from lab.bench.numbers import RATIO, Number
from ops.settings import ROOT, Settings
from ops.stack.stack import silently
from ops.stack.supervisor import StackError

BASELINE = ROOT / "tools" / "lab" / "bench-baseline.json"


def ratio(value: float, what: str = "ours / naive", arm: str = "write") -> Number:
    """Return a ratio as a run measures it."""
    return Number(arm, what, value, RATIO)


def rate(value: float) -> Number:
    """Return a number that another machine would not repeat."""
    return Number("write", "ours", value, "orders/s")


def save(folder: Path, *numbers: Number) -> Path:
    """Write what `pipeline bench --json` prints of these numbers."""
    file = folder / "earlier.json"
    document = {"machine": "two cores", "numbers": [command.as_row(one) for one in numbers]}
    file.write_text(json.dumps(document))
    return file


@pytest.mark.parametrize(
    ("now", "sentences"),
    [
        pytest.param(34.0, [], id="within what two runs differ by"),
        pytest.param(60.0, [], id="better"),
        pytest.param(33.0, ["write, ours / naive has fallen from 40 to 33, by 18%"], id="fallen"),
    ],
)
def test_a_ratio_that_has_fallen_is_named(tmp_path: Path, now: float, sentences: list[str]) -> None:
    """By more than 15 %; what it has gained is no news."""
    earlier = read_ratios(save(tmp_path, ratio(40.0)), ["write"])
    assert compare_with(earlier, [ratio(now)]).fallen == sentences


def test_only_ratios_are_compared(tmp_path: Path) -> None:
    """A rate that is a tenth of the earlier one says that the machine is another."""
    earlier = read_ratios(save(tmp_path, rate(20_000), ratio(40.0)), ["write"])
    found = compare_with(earlier, [rate(2_000), ratio(40.0)])
    assert (found.fallen, found.gone, found.new) == ([], [], [])


def test_what_only_one_run_has_measured_is_named(tmp_path: Path) -> None:
    """On either side: a ratio with another name would be compared with nothing."""
    earlier = read_ratios(save(tmp_path, ratio(40.0), ratio(0.5, "ours / pgbench")), ["write"])
    found = compare_with(earlier, [ratio(40.0), ratio(0.5, "ours / psql")])
    assert found.gone == ["write, ours / pgbench is not measured any more"]
    assert found.new == ["write, ours / psql was not measured then"]


@pytest.mark.parametrize(
    ("only", "arms"),
    [
        pytest.param(["write"], {"write"}, id="with --only, the earlier run may have done more"),
        pytest.param([], {"write", "chain", "renamed"}, id="without, even an arm that is gone"),
    ],
)
def test_arms_that_were_not_chosen_are_not_missed(
    tmp_path: Path, only: list[str], arms: set[str]
) -> None:
    """All others are: an arm that has another name now would be compared with nothing."""
    numbers = [ratio(40.0, arm=arm) for arm in ("write", "chain", "renamed")]
    assert {arm for arm, _ in read_ratios(save(tmp_path, *numbers), only)} == arms


def test_a_good_comparison_says_so(tmp_path: Path) -> None:
    """Beside what is new, which the file does not have yet."""
    found = compare_with(read_ratios(save(tmp_path, ratio(40.0)), []), [ratio(41.0)])
    assert lines(found) == ["no ratio has fallen"]
    more = compare_with({("write", "ours / naive"): 40.0}, [ratio(41.0), ratio(1.0, "a / b")])
    assert lines(more) == ["no ratio has fallen", "write, a / b was not measured then"]


@pytest.mark.parametrize(
    ("against", "good"),
    [
        ({"fallen": [], "gone": [], "new": ["one"]}, True),
        ({"fallen": ["one"], "gone": [], "new": []}, False),
        ({"fallen": [], "gone": ["one"], "new": []}, False),
    ],
)
def test_a_ratio_that_has_fallen_or_is_gone_fails_the_run(
    against: dict[str, Any], good: bool
) -> None:
    """One that is new cannot have fallen; one that is gone may have, and nobody would see it."""
    assert is_good({"numbers": [], "against": against}) is good


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        pytest.param(None, "cannot be read: No such file or directory", id="no file"),
        pytest.param("{", "is not the output of pipeline bench --json: Invalid JSON", id="no JSON"),
        pytest.param("{}", "pipeline bench --json: numbers: Field required", id="of another tool"),
        pytest.param(
            '{"numbers": [{"arm": "write", "what": "a / b", "value": NaN, "unit": "times"}]}',
            "numbers.0.value: Input should be a finite number",
            id="no number",
        ),
        pytest.param('{"numbers": []}', "has no ratio of write", id="nothing to compare"),
    ],
)
def test_a_file_that_cannot_be_compared_with_is_refused_at_once(
    tmp_path: Path, content: str | None, sentence: str
) -> None:
    """With a sentence, before an hour of measuring, and no run passes beside an empty file."""
    file = tmp_path / "earlier.json"
    if content is not None:
        file.write_text(content)
    with pytest.raises(StackError) as refusal:
        bench(Settings(run_dir=tmp_path), silently, ["write"], 1, 1, file)
    assert str(refusal.value).startswith(f"--against: {file} ")
    assert sentence in str(refusal.value)


def test_the_committed_baseline_can_be_compared_with() -> None:
    """It has ratios of arms that there are, and no other numbers."""
    numbers = json.loads(BASELINE.read_text())["numbers"]
    ratios = read_ratios(BASELINE, [])
    assert {arm for arm, _ in ratios} <= set(ARMS)
    assert len(ratios) == len(numbers) > 0
    assert all(value > 0 for value in ratios.values())
