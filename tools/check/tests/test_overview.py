"""What is printed of a whole repository: one screen, and all of it on request."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from pipeline_check.audit import audit, read_sources
from pipeline_check.command import app
from pipeline_check.rules.examples import EXAMPLES
from pipeline_check.rules.explain import explanation, rule_names
from pipeline_check.walk import files

HASTY = "bootstrap.servers=kafka:9092\nkey.serializer=x\nacks=1\n"
SCREEN = 50  # lines


def run(*arguments: str) -> str:
    """Return what the command prints."""
    return CliRunner().invoke(app, list(arguments)).output


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Forty producers that lose and double, a quarter of them in examples."""
    for number in range(40):
        folder = tmp_path / ("examples" if number % 4 == 0 else "shop") / str(number)
        folder.mkdir(parents=True)
        folder.joinpath("producer.properties").write_text(HASTY)
    monkeypatch.chdir(tmp_path)
    return Path()


def test_a_whole_repository_fits_on_a_screen(repository: Path) -> None:
    """Counted by verdict and by rule, with what to begin with: not what lies in examples."""
    lines = run(str(repository)).splitlines()
    assert len(lines) <= SCREEN
    text = "\n".join(lines)
    assert "40 not idempotent: 40 of java" in text
    assert "40 error   producer-not-idempotent in 40 files; 10 in examples and tests" in text
    begin = text.partition("to begin with:")[2]
    assert " shop/1/" in begin
    assert " examples/" not in begin


def test_a_file_is_named_once_with_all_that_is_wrong_in_it(repository: Path) -> None:
    """Two rules on one line are one place to go to; three such files stand for thirty."""
    begin = run(str(repository)).partition("to begin with:")[2]
    places = [line for line in begin.splitlines() if "producer.properties:" in line]
    assert len(places) == 3
    assert all(line.endswith("producer-not-idempotent, producer-acks-lost") for line in places)
    assert "not idempotent (java), because acks=1 switches it off silently" in begin


def test_where_there_are_only_examples_they_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A repository of samples has nothing else to begin with."""
    for number in range(20):
        folder = tmp_path / "samples" / str(number)
        folder.mkdir(parents=True)
        folder.joinpath("producer.properties").write_text(HASTY)
    monkeypatch.chdir(tmp_path)
    assert " samples/" in run(".").partition("to begin with:")[2]


def test_control_all_of_it_is_printed_on_request(repository: Path) -> None:
    """Every finding with its fix, on far more than a screen."""
    text = run("--all", str(repository))
    assert text.count(": error producer-not-idempotent") == 40
    assert len(text.splitlines()) > 10 * SCREEN


def test_little_is_printed_in_full(repository: Path) -> None:
    """The file of one producer fits, so that nothing is left out."""
    assert "fix: enable.idempotence=true" in run(str(repository / "shop/1"))


def test_annotations_are_one_line_each(repository: Path) -> None:
    """GitHub reads a command a line, so that a fix of several lines is escaped."""
    lines = run("--github", str(repository / "shop/1")).splitlines()
    assert lines[0].startswith("::error file=")
    assert ",line=3,title=producer-not-idempotent::" in lines[0]
    assert "%0Afix: enable.idempotence=true%0Aacks=all" in lines[0]
    assert all(line.startswith(("::error ", "::warning ", "::notice ")) for line in lines)


@pytest.mark.parametrize("rule", rule_names())
def test_every_rule_explains_itself(rule: str) -> None:
    """How bad it is, and why."""
    said = explanation(rule)
    assert said.startswith(rule)
    assert len(said.splitlines()) > 1


@pytest.mark.parametrize("rule", EXAMPLES)
def test_an_example_shows_its_rule_before_and_not_after(rule: str, tmp_path: Path) -> None:
    """Both are audited: a page that shows something else would be found here."""
    example = EXAMPLES[rule]
    file = tmp_path / example.file
    found = []
    for text in (example.before, example.after):
        file.write_text(text)
        found.append({each.id for each in audit(read_sources(files([file]), []), {}).every()})
    assert rule in found[0]
    assert rule not in found[1]
    assert "\n    +" in explanation(rule) or "\n    -" in explanation(rule)


def test_an_unknown_rule_is_refused() -> None:
    """With the way to those that are there; without a name they are listed."""
    done = CliRunner().invoke(app, ["explain", "no-such-rule"])
    assert done.exit_code == 2
    assert "there is no rule no-such-rule: explain lists them" in done.output
    assert "producer-acks-lost" in run("explain")
