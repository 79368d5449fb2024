"""The live check on the real parts: it names what is broken, and the fix that it prints works."""

import os
import subprocess
from collections.abc import Callable, Iterator

import pytest
import requests
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)
from typer.testing import CliRunner

from ops.cli import app
from ops.jars import jars_folder
from ops.settings import ROOT
from ops.stack.kafka import POM
from ops.stack.stack import Stack
from pipeline_check.live.look import look
from pipeline_check.reading.read import read
from pipeline_check.rules.finding import Finding, Severity
from tests.client import connect, until

CONNECTORS = sorted((ROOT / "connect").glob("*-outbox.json"))
BLOCKS = [block for file in CONNECTORS for block in read(file)]
SQL = [file.read_text() for file in sorted((ROOT / "migrations").rglob("*.py"))]
TOOLS = {
    "kafka-configs.sh": "kafka.admin.ConfigCommand",
    "kafka-topics.sh": "org.apache.kafka.tools.TopicCommand",
}


def found_now() -> list[Finding]:
    """Return all findings above a note about the stack in the environment."""
    return [one for one in look(os.environ, BLOCKS, SQL) if one.severity > Severity.NOTE]


def shown(findings: list[Finding]) -> list[str]:
    """Return findings short enough to be read in a failure."""
    return [f"{one.file}: {one.id}: {one.message}" for one in findings]


@pytest.fixture(scope="session")
def tools(spoiled_stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A PATH with Kafka's own tools under their own names, from the jars of the broker."""
    folder = tmp_path_factory.mktemp("tools")
    jars = jars_folder(spoiled_stack.settings.jars, POM) / "worker"
    for name, main_class in TOOLS.items():
        (folder / name).write_text(
            f'#!/bin/sh\nexec java -XX:TieredStopAtLevel=1 -cp "{jars}/*" {main_class} "$@"\n'
        )
        (folder / name).chmod(0o755)
    return f"{folder}:{ROOT / '.venv/bin'}:{os.environ['PATH']}"


@pytest.fixture
def fixed(
    spoiled: Stack, tools: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str], list[Finding]]]:
    """Wait for a finding, run the fixes of all until none is left, and return the first."""
    monkeypatch.setenv("PATH", tools)
    monkeypatch.setenv(
        "CONNECT_TIMEOUT_SECONDS", "20"
    )  # what does not come up is fixed by the next round
    monkeypatch.setenv("PGPASSFILE", spoiled.env()["PGPASSFILE"])
    until(lambda: shown(found_now()), lambda left: not left, 30, "the stack had findings before")

    def fix_all(rule: str) -> list[Finding]:
        first = until(
            found_now, lambda found: rule in [one.id for one in found], 30, f"{rule} was not found"
        )

        def still_found() -> list[Finding]:
            found = found_now()
            for one in found:
                run(one)
            return found

        until(
            still_found,
            lambda found: not found,
            120,
            f"what was printed for {rule} does not fix it",
        )
        return first

    yield fix_all
    until(lambda: shown(found_now()), lambda left: not left, 30, "the test left the stack broken")


def run(finding: Finding) -> None:
    """Paste the fix where it belongs: a command into a shell, SQL into the finding's database."""
    if finding.fix.startswith(("curl ", "python ", "kafka-", "pipeline ")):
        # Whatever its exit code: what it could not fix is still found the next time.
        subprocess.run(  # noqa: S602 - a user pastes it into a shell, too
            finding.fix,
            shell=True,
            check=False,
            capture_output=True,
            timeout=60,
            cwd=ROOT,
        )
        return
    place = finding.file.partition("/")[2].removesuffix("-outbox") or "postgres"
    with connect(place, "postgres") as administrator:
        for statement in finding.fix.split(";"):
            if statement.strip() and not statement.strip().startswith("--"):
                administrator.execute(statement.encode())


def sql(*statements: str, database: str = "fulfillment") -> None:
    """Run what a careless administrator would."""
    with connect(database, "postgres") as administrator:
        for statement in statements:
            administrator.execute(statement.encode())


def test_a_good_stack_has_no_finding(spoiled: Stack) -> None:
    """The stack as it comes has no finding but notes about what could not be looked at."""
    found = look(os.environ, BLOCKS, SQL)
    assert {one.severity for one in found} == {Severity.NOTE}, shown(found)
    assert {(one.id, one.file) for one in found} == {
        ("not-looked-at", "postgres"), ("not-looked-at", "connect"), ("not-looked-at", "broker")
    }  # fmt: skip
    assert all(one.message.startswith("not looked at: ") and one.fix for one in found)


BROKEN = [
    ("grant-missing", "revoke update on heartbeat from cdc"),
    ("grant-missing", "revoke update (audited_at) on tracking from app"),
    ("grant-missing", "revoke insert on outbox from app"),
    ("grant-missing", "revoke select on fulfillment from reconciler"),
    ("grant-missing", "revoke connect on database fulfillment from cdc"),
    (
        "grant-missing",
        "revoke connect on database fulfillment from reconciler",
    ),  # then the app's role asks
    ("outbox-rewritable", "grant update, delete on outbox to app"),
    ("role-cannot-replicate", "alter role cdc noreplication"),
    ("role-superuser", "alter role cdc superuser"),
    ("outbox-not-published", "alter publication outbox drop table outbox"),
    ("heartbeat-not-published", "alter publication outbox drop table heartbeat"),
    ("heartbeat-operation-not-published", "alter publication outbox set (publish = 'insert')"),
    ("insert-not-published", "alter publication outbox set (publish = 'update')"),
    ("publication-missing", "drop publication outbox"),
    ("replica-identity", "alter table heartbeat replica identity nothing"),
    ("payload-nullable", "alter table outbox alter column payload drop not null"),
    ("payload-unbounded", "alter table outbox drop constraint outbox_payload_check"),
    ("header-nullable", "alter table outbox alter column traceparent drop not null"),
    ("slot-orphaned", "select pg_create_logical_replication_slot('of_nobody', 'pgoutput')"),
    ("postgres-max-slot-wal-keep-size", "alter system set max_slot_wal_keep_size = -1"),
    ("postgres-synchronous-commit", "alter system set synchronous_commit = off"),
    ("postgres-fsync", "alter system set fsync = off"),
    (
        "postgres-idle-replication-slot-timeout",
        "alter system set idle_replication_slot_timeout = '1h'",
    ),
]


@pytest.mark.parametrize(("rule", "statement"), BROKEN)
def test_a_broken_database_is_mended_by_what_is_printed(
    fixed: Callable[[str], list[Finding]], rule: str, statement: str
) -> None:
    """The check names what one statement broke; the statements that it prints repair it."""
    sql(statement, "select pg_reload_conf()")
    first = fixed(rule)
    assert all(one.severity > Severity.NOTE and one.message for one in first)


TOPIC = "fulfillment.events"
SETTINGS = [
    ("size-above-topic", "max.message.bytes=1000"),
    ("topic-insync-blocks", "min.insync.replicas=2"),
    ("topic-unclean-election", "unclean.leader.election.enable=true"),
    ("topic-compacted", "cleanup.policy=compact"),
    ("topic-retention-short", "retention.ms=3600000"),
]


@pytest.mark.parametrize(("rule", "setting"), SETTINGS)
def test_a_broken_topic_is_mended_by_what_is_printed(
    fixed: Callable[[str], list[Finding]], rule: str, setting: str
) -> None:
    """The same for what somebody set on a topic that events go to."""
    name, _, value = setting.partition("=")
    change = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, TOPIC, incremental_configs=[change])
    client = AdminClient({"bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"]})
    client.incremental_alter_configs([resource])[resource].result()
    assert [one.file for one in fixed(rule) if one.id.startswith("topic-")] in (
        [],
        [f"broker/{TOPIC}"],
    )


@pytest.mark.parametrize(
    ("rule", "method", "path"),
    [
        ("connector-paused", "PUT", "/pause"),
        ("connector-paused", "PUT", "/stop"),
        ("connector-missing", "DELETE", ""),
    ],
)
def test_a_connector_that_does_not_run_is_mended_by_what_is_printed(
    fixed: Callable[[str], list[Finding]], rule: str, method: str, path: str
) -> None:
    """Paused, stopped or gone: it is named, and comes back."""
    url = f"{os.environ['CONNECT_URL']}/connectors/fulfillment-outbox{path}"
    requests.request(method, url, timeout=10).raise_for_status()
    fixed(rule)


def test_a_failed_task_is_told_with_its_cause(fixed: Callable[[str], list[Finding]]) -> None:
    """A task that failed is restarted once its cause is fixed, and the cause is in the sentence."""
    sql("drop publication outbox")
    url = f"{os.environ['CONNECT_URL']}/connectors/fulfillment-outbox/restart?includeTasks=true"
    requests.post(url, timeout=10).raise_for_status()
    until(
        lambda: shown(found_now()),
        lambda found: "is FAILED" in str(found),
        30,
        "the task did not fail",
    )
    first = fixed("connector-failed")
    assert any("ublication" in one.message for one in first if one.id == "connector-failed"), shown(
        first
    )
    assert "publication-missing" in [one.id for one in first]


def without_connector() -> None:
    """Take the connector away, and wait until nobody reads its slot."""
    requests.delete(
        f"{os.environ['CONNECT_URL']}/connectors/fulfillment-outbox", timeout=10
    ).raise_for_status()
    until(
        lambda: [one.id for one in found_now()],
        lambda found: "slot-inactive" in found,
        30,
        "the slot is still read",
    )


def test_a_dropped_slot_is_made_again(fixed: Callable[[str], list[Finding]]) -> None:
    """A slot that is gone is made again, and the old offset, which Debezium refuses, is reset."""
    without_connector()
    sql("select pg_drop_replication_slot('fulfillment_outbox')")
    fixed("slot-missing")


def test_a_slot_that_lost_its_log_is_made_anew(fixed: Callable[[str], list[Finding]]) -> None:
    """A slot whose log the server gave up is reported as lost, not as lagging, and made again."""
    without_connector()
    sql("alter system set max_slot_wal_keep_size = '1MB'", "select pg_reload_conf()")
    for _ in range(4):
        sql(
            "create table filler as select repeat('x', 1000) from generate_series(1, 20000)",
            "drop table filler",
        )
        sql("select pg_switch_wal()", "checkpoint")
    sql("alter system reset max_slot_wal_keep_size", "select pg_reload_conf()")
    first = fixed("slot-lost")
    assert any("reconcile" in one.message for one in first if one.id == "slot-lost")


def test_a_heartbeat_topic_that_is_gone_is_made_again(
    fixed: Callable[[str], list[Finding]],
) -> None:
    """Where nothing makes topics, the connector would wait for its heartbeat's for ever."""
    client = AdminClient({"bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"]})
    client.delete_topics(["heartbeat.fulfillment"])["heartbeat.fulfillment"].result()
    fixed("heartbeat-topic-missing")


def test_pg_hba_is_looked_at_once_it_is_granted(spoiled: Stack) -> None:
    """The grants that the note about pg_hba prints let us look; our own file has no bad line."""
    note = next(one for one in look(os.environ, BLOCKS, SQL) if "pg_hba" in one.message)
    run(Finding(note.id, note.severity, "postgres/fulfillment", 0, note.message, note.fix))
    try:
        found = [one for one in look(os.environ, BLOCKS, SQL) if "pg_hba" in one.message]
        assert [one.severity for one in found] == [
            Severity.NOTE
        ]  # the audit database was not granted it
    finally:
        sql(note.fix.replace("grant", "revoke").replace(" to ", " from ").split(";")[0])
        sql(note.fix.replace("grant", "revoke").replace(" to ", " from ").split(";")[1])


@pytest.mark.parametrize("setting", ["DATABASE_URL", "CONNECT_URL", "KAFKA_BOOTSTRAP_SERVERS"])
def test_a_part_that_does_not_answer_is_no_pass(
    spoiled: Stack, setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part that does not answer makes the exit code 2, and the other parts are looked at."""
    port = spoiled.settings.postgres_port + 7  # one of the tests' own, which nobody uses
    good = os.environ[setting]
    bad = {
        "DATABASE_URL": f"postgresql://app@127.0.0.1:{port}/fulfillment",
        "CONNECT_URL": f"http://127.0.0.1:{port}",
    }
    monkeypatch.setenv(setting, bad.get(setting, f"127.0.0.1:{port}"))
    monkeypatch.chdir(ROOT)
    command = ["check", "--live", "--json", "connect", "migrations"]
    looked = CliRunner().invoke(app, command)
    assert looked.exit_code == 2
    assert f"not looked at: {setting}: " in looked.output
    monkeypatch.setenv(setting, good)
    assert CliRunner().invoke(app, command).exit_code == 0


def test_without_connect_no_slot_is_called_nobodys(
    spoiled: Stack, monkeypatch: pytest.MonkeyPatch, fixed: Callable[[str], list[Finding]]
) -> None:
    """While Connect is not seen, nobody can know whose a slot is, and no statement drops one."""
    sql("select pg_create_logical_replication_slot('of_nobody', 'pgoutput')")
    with monkeypatch.context() as patch:
        patch.setenv("CONNECT_URL", f"http://127.0.0.1:{spoiled.settings.postgres_port + 7}")
        found = look(os.environ, [], SQL)
        assert "cannot-look" in [one.id for one in found]
        assert not [one for one in found if "drop" in one.fix]
    assert [one.id for one in fixed("slot-orphaned")] == ["slot-orphaned"]


def test_a_password_in_an_address_is_not_told(
    spoiled: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A password that was written into a URL is in no log of the check."""
    port = spoiled.settings.postgres_port + 7
    monkeypatch.setenv(
        "DATABASE_URL", f"postgresql+psycopg://app:hunter2@127.0.0.1:{port}/fulfillment"
    )
    found = [one for one in look(os.environ, BLOCKS, SQL) if one.id == "cannot-look"]
    assert [one.file for one in found] == ["DATABASE_URL"]
    assert "app:***@" in found[0].message
    assert "hunter2" not in str(found)


def test_without_its_address_a_part_is_no_pass(
    spoiled: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An address that is not set is said, with the way to set it."""
    monkeypatch.delenv("CONNECT_URL")
    found = [one for one in look(os.environ, BLOCKS, SQL) if one.id == "cannot-look"]
    assert [(one.file, one.fix) for one in found] == [
        ("CONNECT_URL", "source .run/env, or set CONNECT_URL")
    ]
