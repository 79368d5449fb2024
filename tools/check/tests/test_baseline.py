"""A baseline hides what was there before, by content, and never more than that."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from pipeline_check.command import app

HASTY = "bootstrap.servers=kafka:9092\nacks=1\n"


def run(*arguments: str) -> Result:
    """Run the command."""
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one hasty producer, which its baseline has."""
    monkeypatch.chdir(tmp_path)
    tmp_path.joinpath("producer.properties").write_text(HASTY)
    assert run("--write-baseline", "known.txt", ".").exit_code == 0
    return tmp_path


def test_what_was_there_before_fails_no_more(repository: Path) -> None:
    """Also when lines are moved by others around them."""
    file = repository / "producer.properties"
    file.write_text(f"# moved\n\n{HASTY}")
    assert run(".").exit_code == 1
    assert run("--baseline", "known.txt", ".").exit_code == 0


def test_control_what_is_new_fails(repository: Path) -> None:
    """A second producer with the same fault is not the one that the baseline knows."""
    repository.joinpath("other.properties").write_text(HASTY)
    done = run("--baseline", "known.txt", ".")
    assert done.exit_code == 1
    assert "other.properties:2: error producer-not-idempotent" in done.stdout
    assert " producer.properties:2: error" not in done.stdout


def test_a_stale_line_is_an_error(repository: Path) -> None:
    """Once a finding is mended its line must go, or it would hide the next one."""
    repository.joinpath("producer.properties").write_text(
        "bootstrap.servers=kafka:9092\nacks=all\nenable.idempotence=true\n"
    )
    done = run("--baseline", "known.txt", ".")
    assert done.exit_code == 1
    assert "error baseline-stale" in done.stdout


@pytest.mark.parametrize(
    ("text", "why"), [(None, "is not there: write it with"), ("half\n", "at line 1")]
)
def test_a_baseline_that_cannot_be_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, why: str
) -> None:
    """One sentence with the way out, and exit 2."""
    monkeypatch.chdir(tmp_path)
    if text:
        tmp_path.joinpath("known.txt").write_text(text)
    done = run("--baseline", "known.txt", ".")
    assert done.exit_code == 2
    assert why in done.output
