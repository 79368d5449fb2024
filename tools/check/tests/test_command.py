"""`pipeline check` as people and programs meet it: its shape, its exit codes, and what it is told to overlook."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ops.cli import app, spelled_out, told
from pipeline_check.clients.client import UnknownVersionError, versions
from pipeline_check.walk import NothingThereError, files

SWITCH = "enable.idempotence=false\nacks=all\n"
OFF = f"bootstrap.servers=kafka:9092\n{SWITCH}"
MARK = "check: " + "ignore"  # in two parts: this file is audited, too
RUNNER = CliRunner()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(*arguments: str) -> tuple[int, str]:
    """The exit code and what was printed."""
    done = RUNNER.invoke(app, ["check", *arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stdout


def test_json_has_the_promised_shape(folder: Path) -> None:
    """Exactly the keys that programs were promised."""
    (folder / "producer.properties").write_text(OFF)
    (folder / "server.properties").write_text("broker.id=1\n")
    code, printed = check("--json")
    document = json.loads(printed)
    assert code == 1
    assert document.keys() == {"producers", "findings"}
    producer = document["producers"][0]
    assert producer.keys() == {"file", "line", "client", "verdict", "effective", "findings"}
    assert (producer["file"], producer["line"], producer["verdict"]) == (
        "producer.properties",
        2,
        "not_idempotent",
    )
    assert producer["client"] == "java"
    assert producer["effective"]["enable.idempotence"] == "false"
    for finding in [*producer["findings"], *document["findings"]]:
        assert finding.keys() == {"id", "severity", "file", "line", "message", "fix"}
    assert producer["findings"][0]["severity"] == "error"
    assert {each["file"] for each in document["findings"]} == {"server.properties"}


def test_sarif_names_rules_places_and_what_is_suppressed(folder: Path) -> None:
    """What code scanning needs, and the reason for what is not to be shown."""
    (folder / "producer.properties").write_text(
        f"# {MARK}[producer-not-idempotent] metrics only\n{OFF}"
    )
    (folder / "other.properties").write_text(OFF)
    code, printed = check("--sarif")
    run = json.loads(printed)["runs"][0]
    results = {
        each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]: each
        for each in run["results"]
    }
    assert code == 1
    assert results["other.properties"]["level"] == "error"
    assert results["other.properties"]["locations"][0]["physicalLocation"]["region"] == {
        "startLine": 2
    }
    assert {each["id"] for each in run["tool"]["driver"]["rules"]} >= {"producer-not-idempotent"}


@pytest.mark.parametrize(
    ("least", "code"), [("error", 0), ("warning", 1), ("note", 1), ("never", 0)]
)
def test_fail_on_names_the_least_severity_that_fails(folder: Path, least: str, code: int) -> None:
    """A warning fails from `warning` on, and not where only errors do."""
    (folder / "consumer.properties").write_text(
        "bootstrap.servers=k:9092\nauto.offset.reset=latest\n"
    )
    assert check("--fail-on", least)[0] == code


def test_the_table_tells_verdict_reason_and_fix(folder: Path) -> None:
    """What people see: where, what, why, and what to paste; as plain text, since this is no terminal."""
    (folder / "producer.properties").write_text(OFF)
    _, printed = check()
    for words in (
        "not idempotent",
        "producer.properties:2",
        "producer-not-idempotent",
        "fix: enable.idempotence=true",
    ):
        assert words in printed
    assert "1 not idempotent" in printed.splitlines()[-1]
    assert "\x1b[" not in printed


def test_a_path_that_is_not_there_could_not_be_looked_at(folder: Path) -> None:
    """Exit 2 in the end: nothing was looked at, and that is not the same as nothing found."""
    with pytest.raises(NothingThereError, match="nowhere is not there") as failure:
        list(files([folder / "nowhere"]))
    assert "name files or folders" in told(failure.value)


def test_an_ignore_needs_a_reason(folder: Path) -> None:
    """With a reason it is overlooked, without one it is one finding more."""
    (folder / "producer.properties").write_text(
        f"# {MARK}[producer-not-idempotent] a metric may be doubled\n{SWITCH}"
    )
    assert check()[0] == 0
    (folder / "producer.properties").write_text(f"# {MARK}[producer-not-idempotent]\n{SWITCH}")
    code, printed = check("--json")
    document = json.loads(printed)
    assert code == 1
    assert [each["id"] for each in document["findings"]] == ["ignore-without-reason"]
    assert [each["id"] for each in document["producers"][0]["findings"]] == [
        "producer-not-idempotent"
    ]


def test_the_ignore_file_overlooks_by_pattern_and_leaves_whole_files_out(folder: Path) -> None:
    """One line overlooks a rule in some files, a star leaves files out; both need a reason."""
    (folder / "a.properties").write_text(OFF)
    (folder / "b.properties").write_text(OFF)
    ignores = folder / ".pipeline-check-ignore"
    ignores.write_text("producer-not-idempotent a.* it is a metric\n* b.* written to be found\n")
    assert check()[0] == 0
    ignores.write_text("producer-not-idempotent a.*\n* b.* written to be found\n")
    assert check()[0] == 1


def test_the_version_of_a_client_decides(folder: Path) -> None:
    """The same settings are idempotent in one version and not in another; an unknown client is refused."""
    (folder / "producer.properties").write_text("bootstrap.servers=kafka:9092\nacks=all\n")

    def verdict(*options: str) -> str:
        return str(json.loads(check("--json", *options)[1])["producers"][0]["verdict"])

    assert verdict() == "idempotent"
    assert verdict("--client-version", "java=2.8.2") == "not_idempotent"
    assert verdict("--client-version", "java=3.1.0") == "not_idempotent"
    assert verdict("--client-version", "java=3.1.1") == "idempotent"
    with pytest.raises(UnknownVersionError, match=r"sarama=1\.0: say CLIENT=VERSION") as failure:
        versions(["sarama=1.0"])
    assert "clients: aiokafka" in told(failure.value)


def test_folders_that_tools_make_are_not_entered(folder: Path) -> None:
    """What was fetched or built is not ours to judge; what was named is, wherever it lies."""
    made = folder / "node_modules" / "x.properties"
    made.parent.mkdir()
    made.write_text(OFF)
    assert json.loads(check("--json")[1]) == {"producers": [], "findings": []}
    assert check(str(made))[0] == 1


def test_a_budget_that_does_not_hold_is_a_finding(folder: Path) -> None:
    """The intent of a pyproject.toml is judged with the rest, and printed sum by sum when it is asked for."""
    (folder / "pyproject.toml").write_text(
        '[tool.pipeline.budget]\ndrain = "30s"\nstop_grace = "20s"\n'
    )
    code, printed = check("--json")
    assert code == 1
    assert [each["id"] for each in json.loads(printed)["findings"]] == ["budget-drain"]
    code, printed = check("--budget", "pyproject.toml", "--budget", "stop_grace=40s")
    assert code == 0
    assert "budget-drain: stop_grace > drain" in printed
    (folder / "pyproject.toml").write_text("[tool.pipeline.budget]\nsurprise = 1\n")
    assert [each["id"] for each in json.loads(check("--json")[1])["findings"]] == ["cannot-read"]


def test_a_package_that_is_not_installed_is_named() -> None:
    """Installed alone, the parts that need more say what they need; a module of ours that is missing is a defect."""
    assert "needs psycopg" in told(ModuleNotFoundError(name="psycopg"))
    assert told(ModuleNotFoundError(name="ops.gone")) == ""


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["check", "--prove"], ["check", "--prove", "python"]),
        (["check", "--prove", "java"], ["check", "--prove", "java"]),
        (
            ["check", "--prove", "--messages", "9"],
            ["check", "--prove", "python", "--messages", "9"],
        ),
        (["check", "app.py"], ["check", "app.py"]),
    ],
)
def test_prove_alone_means_the_python_client(words: list[str], meant: list[str]) -> None:
    """The client is optional; nothing else of what was typed changes."""
    assert spelled_out(words) == meant
