"""`pipeline` as it is typed: help, sentences instead of tracebacks, exit codes, attached tools."""

import socket
import subprocess
import sys
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from ops import cli, tools, topic
from ops.settings import ROOT
from ops.stack.supervisor import StackError

ALL = [
    "up",
    "down",
    "status",
    "produce",
    "land",
    "reconcile",
    "repair",
    "offsets",
    "demo",
    "forget",
    "outbox",
    "dead-letters",
    "audit",
]
STARTING = [
    "up",
    "demo",
    "offsets",
    "produce",
    "land",
    "reconcile",
    "repair",
    "forget --older-than 30d",
    "outbox resend --since 1h",
    "audit retry",
]
NO_STACK = "secrets/purger_password: start the stack first (pipeline up)"


class Typed(NamedTuple):
    """What a command printed, and its exit code."""

    code: int
    output: str
    errors: str


class Refused(NamedTuple):
    """Settings that cannot work, and how the sentence about them begins."""

    settings: dict[str, str]
    sentence: str


@pytest.fixture
def run_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run folder of this test's own, and nothing else in the environment that changes a stack."""
    for name in ("ATTACH", "DEDUP_STORE", "INPUT_TOPIC"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "run"
    monkeypatch.setenv("RUN_DIR", str(folder))
    return folder


@pytest.fixture
def type_in(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> "TypeIn":
    """Run `pipeline` with these words in this process."""
    return TypeIn(capsys, monkeypatch)


class TypeIn:
    """`pipeline`, typed into a terminal without colours."""

    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.capsys = capsys
        self.monkeypatch = monkeypatch

    def __call__(self, words: str) -> Typed:
        """Return what was printed, and the exit code."""
        self.monkeypatch.setattr(sys, "argv", ["pipeline", *words.split()])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        printed = self.capsys.readouterr()
        return Typed(int(ended.value.code or 0), printed.out, printed.err)


def test_bare_pipeline_shows_help() -> None:
    """No words at all are no mistake: every command is listed, and there is no traceback."""
    done = subprocess.run(
        [sys.executable, "-m", "ops"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 2)
    assert "Traceback" not in done.stderr
    shown = done.stdout + done.stderr
    assert [name for name in (*ALL, "check") if name not in shown] == []


def test_a_page_that_cannot_be_served_is_refused_with_the_setting(
    type_in: TypeIn, run_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A token that anybody guesses, a file that is not there, a port that another program has."""
    file = run_dir.with_name("token")
    file.write_text("short")
    monkeypatch.setenv("PAGE_TOKEN_FILE", str(file))
    typed = type_in("status --serve")
    assert typed.code == 2
    assert typed.errors.startswith(f"pipeline: PAGE_TOKEN_FILE={file}: its first line has fewer")
    monkeypatch.setenv("PAGE_TOKEN_FILE", "/nowhere")
    assert "PAGE_TOKEN_FILE=/nowhere: No such file" in type_in("status --serve").errors
    monkeypatch.delenv("PAGE_TOKEN_FILE")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setenv("PAGE_PORT", str(port))
        typed = type_in("status --serve")
    assert typed.code == 2
    assert f"port {port} is taken" in typed.errors
    assert "set PAGE_PORT to a free port" in typed.errors


@pytest.mark.parametrize("name", ALL)
def test_every_command_explains_itself(type_in: TypeIn, name: str) -> None:
    """`--help` works for each, without a stack."""
    typed = type_in(f"{name} --help")
    assert typed.code == 0
    assert f"pipeline {name}" in typed.output.replace("  ", " ")


def test_help_imports_no_client_and_no_spark() -> None:
    """What each command needs is imported when it runs: help is there in a fraction of a second."""
    code = "import ops.cli, sys; print(*sorted({m.partition('.')[0] for m in sys.modules}))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    imported = set(done.stdout.split())
    assert "typer" in imported
    heavy = {"confluent_kafka", "pyspark", "psycopg", "sqlalchemy", "lab", "pipeline_check"}
    assert imported & heavy == set()


@pytest.mark.parametrize("words", STARTING)
@pytest.mark.parametrize(
    "refused",
    [
        Refused(
            {"RUN_DIR": "/dev/null/run"},
            "the run folder /dev/null/run cannot be written (Not a directory): set RUN_DIR",
        ),
        Refused(
            {"KAFKA_PORT": "18081", "AUDIT_PORT": "18081"},
            "KAFKA_PORT (of kafka) and AUDIT_PORT (of audit) are both 18081: give each a port",
        ),
        Refused({"DEDUP_STORE": "nosuch"}, "DEDUP_STORE=nosuch: there is no such store, only "),
    ],
    ids=["run folder", "ports", "store"],
)
def test_settings_that_cannot_work_are_refused_before_anything_starts(
    type_in: TypeIn, run_dir: Path, monkeypatch: pytest.MonkeyPatch, refused: Refused, words: str
) -> None:
    """One sentence with the way out, exit code 2, and no process has been started."""
    for name, value in refused.settings.items():
        monkeypatch.setenv(name, value)
    typed = type_in(words)
    assert typed.code == 2
    assert refused.sentence in typed.errors
    assert "Traceback" not in typed.errors
    assert not (run_dir / "processes.json").exists()
    assert not (run_dir / "log").exists()


def test_a_stack_with_such_settings_can_still_be_stopped(
    type_in: TypeIn, run_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`down` starts nothing, so it minds no setting of what would be started."""
    monkeypatch.setenv("DEDUP_STORE", "nosuch")
    typed = type_in("down")
    assert (typed.code, typed.output) == (0, "the stack is down\n")


def test_a_setting_of_the_wrong_type_is_named(
    type_in: TypeIn, run_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name as it is set, what was given, and where the settings are explained."""
    monkeypatch.setenv("KAFKA_PORT", "many")
    typed = type_in("up")
    assert typed.code == 2
    assert "KAFKA_PORT=many: " in typed.errors
    assert "see .env.example" in typed.errors


@pytest.mark.parametrize("words", ["produce --orders 1", "forget --older-than 30d"])
def test_without_a_broker_the_way_out_is_said(
    type_in: TypeIn, run_dir: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    """`produce` and `forget` say the same where no stack runs, and nothing in a client's words."""
    monkeypatch.setattr(topic, "ANSWER_SECONDS", 0.3)
    monkeypatch.setenv("KAFKA_PORT", "1")
    typed = type_in(words)
    assert typed.code == 2
    assert "no broker answers at 127.0.0.1:1: start the stack (pipeline up)" in typed.errors
    assert "KafkaError" not in typed.errors


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("dead-letters allow 23514:no_13", NO_STACK),
        ("dead-letters allow no_13", "no_13 is no cause: give a SQLSTATE or a status, and the "),
        ("dead-letters allow 23514 --for ever", "'ever' is no age"),
        ("audit retry", NO_STACK),
        ("audit retry --older-than ever", "'ever' is no age"),
    ],
)
def test_what_cannot_be_done_is_said(
    type_in: TypeIn, run_dir: Path, words: str, sentence: str
) -> None:
    """Without a stack, a cause or an age: a sentence each, and exit code 2."""
    typed = type_in(words)
    assert typed.code == 2
    assert sentence in typed.errors


@pytest.mark.parametrize("words", ["land", "reconcile"])
def test_without_a_stack_a_job_is_not_started(type_in: TypeIn, run_dir: Path, words: str) -> None:
    """Spark would wait for minutes for a broker that is not there."""
    typed = type_in(words)
    assert typed.code == 2
    assert "the stack is not up: start it (pipeline up)" in typed.errors


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("", "say which: --event-id, --since, --until or --seq"),
        ("--seq 17-42", "each outbox has a seq of its own: name one with --outbox"),
        ("--seq 42-17 --outbox audit", "'42-17' is no range: give two numbers, as in 17-42"),
        ("--since yesterday", "'yesterday' is no time with a zone and no age"),
        ("--since 2026-11-22T10:00:00", "is no time with a zone and no age"),
        ("--event-id 17", "'17' is no event id, which is a UUID"),
        ("--since 1h --outbox other", "there is no outbox 'other', only fulfillment and audit"),
    ],
)
def test_resend_says_what_is_wrong_with_its_words(
    type_in: TypeIn, words: str, sentence: str
) -> None:
    """Nothing is sent by a mistake in typing: exit code 2, and a sentence."""
    typed = type_in(f"outbox resend {words}")
    assert typed.code == 2
    shown = " ".join(typed.errors.replace("│", " ").split())
    assert sentence in shown


def test_resend_without_a_database_says_so(type_in: TypeIn, run_dir: Path) -> None:
    """Where no stack runs, the sentence names the outbox, the role and the way out."""
    typed = type_in("outbox resend --since 1h")
    assert typed.code == 2
    assert "the outbox fulfillment cannot be read as resender" in typed.errors
    assert "is the stack up" in typed.errors


def attach(monkeypatch: pytest.MonkeyPatch, *found: EntryPoint) -> None:
    """Let these commands be installed, and no others."""

    def entry_points(**chosen: Any) -> EntryPoints:
        return EntryPoints(found).select(**chosen)

    monkeypatch.setattr(tools, "entry_points", entry_points)


def test_a_tool_that_cannot_be_loaded_breaks_nothing_else(
    type_in: TypeIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Help lists all commands; the broken one says what is wrong with it, exit code 2."""
    attach(monkeypatch, EntryPoint("broken", "no_such_module:command", tools.GROUP))
    shown = type_in("--help")
    assert shown.code == 0
    assert [name for name in (*ALL, "broken") if name not in shown.output] == []
    typed = type_in("broken --anything at all")
    assert typed.code == 2
    assert "pipeline broken cannot be loaded" in typed.errors
    assert "no_such_module" in typed.errors


def test_a_tool_is_not_loaded_before_it_is_asked_for(
    type_in: TypeIn, run_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Our own commands work as fast with tools as without, and a tool replaces none of them."""
    attach(monkeypatch, EntryPoint("down", "no_such_module:command", tools.GROUP))
    assert type_in("down").code == 0


def test_check_says_how_it_is_installed(type_in: TypeIn, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the auditor is not installed, its command takes every word and says the way."""
    attach(monkeypatch)
    typed = type_in("check --live some/folder")
    assert typed.code == 2
    assert (
        "pipeline check is a tool of its own and not installed here: pip install " in typed.errors
    )


def test_check_is_installed_from_where_it_is(tmp_path: Path) -> None:
    """In a clone of the template from its folder, in a copy from the template's address."""
    nowhere = '"pipeline-check @ git+<address of the template>#subdirectory=tools/check"'
    assert tools.how_to_install_check(tmp_path) == nowhere
    answers = tmp_path / ".copier-answers.yml"
    answers.write_text("_commit: v0.2.0\n_src_path: gh:somebody/template\nproject: payments\n")
    address = "https://github.com/somebody/template"
    known = f'"pipeline-check @ git+{address}#subdirectory=tools/check"'
    assert tools.how_to_install_check(tmp_path) == known
    folder = tmp_path / "tools" / "check"
    folder.mkdir(parents=True)
    (folder / "pyproject.toml").touch()
    assert tools.how_to_install_check(tmp_path) == "./tools/check"


class Broker:
    """A client of a broker that has one topic."""

    def list_topics(self, *, timeout: float) -> Any:
        """Return what a client of Kafka returns, as far as it is read."""
        assert timeout > 0
        return SimpleNamespace(topics={"order.events": object()})


def test_the_input_topic_must_be_there() -> None:
    """`produce` and `forget` read INPUT_TOPIC: where it is not there, both ways out are named."""
    client: Any = Broker()
    topic.refuse_without_topic(client, "kafka:9092", "order.events")
    with pytest.raises(StackError) as refused:
        topic.refuse_without_topic(client, "kafka:9092", "parcel.events")
    sentence = str(refused.value)
    assert "there is no topic parcel.events at kafka:9092" in sentence
    assert "python -m connect topics" in sentence
    assert "INPUT_TOPIC" in sentence
