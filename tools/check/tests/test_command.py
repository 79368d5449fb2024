"""The command as people and programs meet it: its shape, its exit codes, and what it overlooks."""

import json
import sys
import time
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pipeline_check import command
from pipeline_check.command import app
from pipeline_check.live.look import EXTRA

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
    """Return the exit code and what was printed."""
    done = RUNNER.invoke(app, list(arguments))
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stdout


def refusal(*arguments: str) -> str:
    """Return the one sentence on standard error that comes with exit code 2."""
    done = RUNNER.invoke(app, list(arguments))
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    return done.stderr


SHAPE = {"id", "severity", "file", "line", "message", "fix", "link", "edits"}


def test_json_has_the_promised_shape(folder: Path) -> None:
    """Exactly the keys that programs were promised."""
    (folder / "producer.properties").write_text(OFF)
    (folder / "server.properties").write_text("broker.id=1\n")
    code, printed = check("--json")
    document = json.loads(printed)
    assert code == 1
    assert document.keys() == {"tool", "version", "producers", "findings"}
    producer = document["producers"][0]
    assert producer.keys() == {
        "file",
        "line",
        "client",
        "version",
        "version_from",
        "verdict",
        "effective",
        "findings",
    }
    assert (producer["file"], producer["line"], producer["verdict"]) == (
        "producer.properties",
        2,
        "not_idempotent",
    )
    assert producer["client"] == "java"
    assert producer["effective"]["enable.idempotence"] == "false"
    for finding in [*producer["findings"], *document["findings"]]:
        assert finding.keys() == SHAPE
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


def test_metrics_count_the_findings_of_each_rule(folder: Path) -> None:
    """One line for each rule and place, a quoted one included, and the time of the look."""
    (folder / 'a "b".properties').write_text(OFF)
    before = int(time.time())
    code, printed = check("--prometheus")
    *found, looked = [line for line in printed.splitlines() if not line.startswith("#")]
    assert code == 1
    labels = 'rule="producer-not-idempotent",place="a \\"b\\".properties",severity="error"'
    assert found == [f"pipeline_check_findings{{{labels}}} 1"]
    name, seconds = looked.split()
    assert name == "pipeline_check_looked_seconds"
    assert int(seconds) >= before


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
    """People see where, what, why, and what to paste; plainly, since this is no terminal."""
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
    """A missing path ends in one sentence and exit 2: that is not the same as nothing found."""
    said = refusal(str(folder / "nowhere"))
    assert "nowhere is not there" in said
    assert "name files or folders" in said


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
    """The same settings are idempotent in one version and not in another; of none, nobody knows."""
    (folder / "producer.properties").write_text("bootstrap.servers=kafka:9092\nacks=all\n")

    def verdict(*options: str) -> str:
        return str(json.loads(check("--json", *options)[1])["producers"][0]["verdict"])

    assert verdict() == "depends"
    assert verdict("--client-version", "java=2.8.2") == "not_idempotent"
    assert verdict("--client-version", "java=3.1.0") == "not_idempotent"
    assert verdict("--client-version", "java=3.1.1") == "idempotent"


def test_the_version_of_kafka_python_decides(folder: Path) -> None:
    """Before 2.2 it has no idempotent producer, and the way out is to upgrade it."""
    (folder / "send.py").write_text("from kafka import KafkaProducer\nproducer = KafkaProducer()\n")

    def findings(version: str) -> dict[str, str]:
        said = json.loads(check("--json", "--client-version", f"kafka-python={version}")[1])
        return {one["id"]: one["fix"] for one in said["producers"][0]["findings"]}

    assert "kafka-python>=3" in findings("2.0.2")["producer-not-idempotent"]
    assert "enable_idempotence=True" in findings("2.3.2")["producer-not-idempotent"]
    assert "producer-not-idempotent" not in findings("3.0.12")


@pytest.mark.parametrize("text", ["shopify=1.0", "java=three", "java"])
def test_a_version_that_cannot_be_judged_is_refused(folder: Path, text: str) -> None:
    """An unknown client, a version without numbers: one sentence with the way out, and exit 2."""
    said = refusal("--client-version", text)
    assert f"{text}: say CLIENT=VERSION, such as java=3.1.0" in said
    assert "clients: aiokafka" in said


def test_folders_that_tools_make_are_not_entered(folder: Path) -> None:
    """What was fetched or built is not ours to judge; what was named is, wherever it is."""
    made = folder / "node_modules" / "x.properties"
    made.parent.mkdir()
    made.write_text(OFF)
    said = json.loads(check("--json")[1])
    assert (said["producers"], said["findings"]) == ([], [])
    assert check(str(made))[0] == 1


def test_a_budget_that_does_not_hold_is_a_finding(folder: Path) -> None:
    """A pyproject.toml's intent is judged with the rest, and printed sum by sum on request."""
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


def test_a_package_that_is_not_installed_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the clients, --live says in one sentence what to install, and the exit code is 2."""
    monkeypatch.delitem(sys.modules, "pipeline_check.live.parts", raising=False)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    code, printed = check("--live", "--json")
    findings = json.loads(printed)["findings"]
    assert code == 2
    assert [(each["id"], each["fix"]) for each in findings] == [("cannot-look", EXTRA)]
    assert "psycopg is not installed" in findings[0]["message"]


def test_the_packages_that_it_names_are_those_of_the_extra() -> None:
    """What a user is told to install is what the extra `live` installs."""
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())[
        "project"
    ]
    packages = project["optional-dependencies"]["live"]
    assert " ".join(f"'{package}'" for package in packages) in EXTRA


def test_the_help_explains_itself() -> None:
    """Someone who has nothing but --help finds the options and what the exit codes mean."""
    code, printed = check("--help")
    words = " ".join(printed.split())
    assert code == 0
    assert "0 fine, 1 found something, 2 could not look" in words
    for option in (
        "--json",
        "--sarif",
        "--prometheus",
        "--fail-on",
        "--client-version",
        "--ignore-file",
    ):
        assert option in words


def test_the_entry_point_is_this_command() -> None:
    """Installed beside the pipeline, the same command is there as `pipeline check`."""
    (found,) = entry_points(group="pipeline.commands", name="check")
    assert found.load() is command.check
