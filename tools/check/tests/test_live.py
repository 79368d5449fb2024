"""What the live check says of servers that no test starts: older, larger or badly kept ones."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import psycopg
import pytest
import requests

from pipeline_check.connector.migrations import Grant
from pipeline_check.connector.outbox import POSTGRES, Outbox
from pipeline_check.connector.surroundings import Surroundings
from pipeline_check.live import connect, postgres
from pipeline_check.live.connect import Cluster, check_running, check_workers
from pipeline_check.live.kafka import (
    Broker,
    Topic,
    check_brokers,
    check_topic,
    check_worker_topics,
)
from pipeline_check.live.look import EXTRA, look
from pipeline_check.live.positions import (
    Position,
    check_heartbeat,
    find_position,
    parse_lsn,
)
from pipeline_check.live.postgres import Database
from pipeline_check.live.privileges import check_grants
from pipeline_check.live.server import check_logins, check_settings, check_slot
from pipeline_check.reading.block import Block, Setting
from pipeline_check.rules.finding import Finding

GOOD = {
    "wal_level": "logical",
    "max_slot_wal_keep_size": "4096",
    "fsync": "on",
    "max_replication_slots": "10",
}
SLOT = {
    "slot_name": "s",
    "database": "d",
    "plugin": "pgoutput",
    "slot_type": "logical",
    "active": True,
    "wal_status": "reserved",
    "kept": 0,
}


@dataclass
class Lines:
    """A session that gives these lines of pg_hba."""

    lines: Sequence[tuple[Any, ...]]

    def execute(self, _query: str | bytes, _values: object = ()) -> "Lines":
        """The query is the real one's; the integration test runs it."""
        return self

    def fetchall(self) -> Sequence[tuple[Any, ...]]:
        """Return all of them."""
        return self.lines

    def fetchone(self) -> tuple[Any, ...] | None:
        """Return the first."""
        return self.lines[0] if self.lines else None

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.lines)


def database(
    settings: dict[str, str], found: list[dict[str, Any]], lines: Sequence[tuple[Any, ...]] = ()
) -> Database:
    """A database that says so."""
    session = cast("psycopg.Connection[Any]", Lines(lines))
    return Database(
        "d",
        "app",
        session,
        Surroundings(),
        GOOD | settings,
        [SLOT | {"temporary": False} | f for f in found],
    )


def ids(findings: Sequence[Finding]) -> list[str]:
    """What was found, without what could not be looked at."""
    return [one.id for one in findings if one.id != "not-looked-at"]


@pytest.mark.parametrize(
    ("settings", "count", "rule"),
    [
        ({}, 1, []),
        ({"wal_level": "replica"}, 1, ["postgres-wal-level"]),
        ({"max_slot_wal_keep_size": "-1"}, 1, ["postgres-max-slot-wal-keep-size"]),
        ({"full_page_writes": "off"}, 1, ["postgres-full-page-writes"]),
        ({"synchronous_standby_names": "standby"}, 1, []),
        ({"synchronous_standby_names": "FIRST 1 (*)"}, 1, ["postgres-synchronous-standby-names"]),
        ({"max_replication_slots": "2"}, 2, ["postgres-max-replication-slots"]),
        ({"max_wal_senders": "2"}, 2, ["postgres-max-wal-senders"]),
        ({"max_wal_senders": "3"}, 2, []),
    ],
)
def test_a_setting_of_the_server_is_found(
    settings: dict[str, str], count: int, rule: list[str]
) -> None:
    """Each with the statement that sets it; and where there is just room enough, nothing."""
    found = list(check_settings(database(settings, [{}] * count)))
    assert ids(found) == rule
    assert all(one.fix.startswith("alter system set ") for one in found)


@pytest.mark.parametrize(
    ("slot", "rule"),
    [
        ({}, []),
        ({"slot_name": "other"}, ["slot-missing"]),
        ({"database": "another"}, ["slot-of-another"]),
        ({"plugin": "wal2json"}, ["slot-of-another"]),
        ({"active": False}, ["slot-inactive"]),
        ({"wal_status": "lost", "active": False}, ["slot-lost"]),
        ({"wal_status": "extended", "invalidation_reason": "idle_timeout"}, ["slot-lost"]),
        ({"kept": 3 * 1024**3}, ["slot-lagging"]),
        ({"kept": 2 * 1024**3}, []),
    ],
)
def test_the_state_of_a_slot_is_found(slot: dict[str, Any], rule: list[str]) -> None:
    """Missing, another's, unread, lost or close to it: each has a name of its own."""
    assert ids(list(check_slot(database({}, [slot]), "s", "outbox"))) == rule


STANDBY = {"slot_name": "standby", "slot_type": "physical"}


@pytest.mark.parametrize(
    ("slots", "settings", "rule"),
    [
        ([{"failover": False}], {}, []),
        ([{}, STANDBY], {}, []),  # before PostgreSQL 17
        ([{"failover": False}, STANDBY], {}, ["slot-without-failover"]),
        ([{"failover": True}, STANDBY], {}, ["standby-not-awaited"]),
        ([{"failover": True}, STANDBY], {"synchronized_standby_slots": "standby"}, []),
    ],
)
def test_a_standby_has_what_was_published(
    slots: list[dict[str, Any]], settings: dict[str, str], rule: list[str]
) -> None:
    """Where there is a standby, it has the slot, and whatever was published."""
    assert ids(list(check_slot(database(settings, slots), "s", "outbox"))) == rule


WHEN = datetime(2026, 11, 22, 10, 30, tzinfo=UTC)
AT_300 = Position(0x300, WHEN)


@pytest.mark.parametrize(
    ("confirmed", "active", "end", "rule"),
    [
        ("0/300", True, "0/400", []),
        ("0/200", False, "0/400", []),  # what was published after that comes once more
        ("0/300", False, "0/300", []),
        ("0/310", True, "0/400", []),  # Connect stores what it published a moment later
        ("0/310", False, "0/400", ["slot-ahead"]),
        ("0/200", True, "0/280", ["connector-beyond-log"]),
        ("0/200", False, "0/280", ["connector-beyond-log"]),
    ],
)
def test_a_slot_that_left_its_connector_is_found(
    confirmed: str, active: bool, end: str, rule: list[str]
) -> None:
    """Slot, stored offset and log are compared: whoever is ahead has skipped something."""
    slot = {"confirmed_flush_lsn": confirmed, "active": active}
    found = list(check_slot(database({}, [slot], [(end,)]), "s", "outbox", AT_300))
    assert [one for one in ids(found) if one != "slot-inactive"] == rule


@pytest.mark.parametrize(
    ("seconds", "beats", "rule"),
    [(30, True, []), (40, True, ["connector-late"]), (40, False, [])],
)
def test_a_connector_without_a_heartbeat_is_found(
    seconds: int, beats: bool, rule: list[str]
) -> None:
    """A connector whose worker hangs is RUNNING, and its slot is active; but it is silent."""
    config = {"heartbeat.interval.ms": "2000", "heartbeat.action.query": "update heartbeat set a=1"}
    settings = {key: Setting(value, 1) for key, value in config.items() if beats}
    outbox = Outbox(Block("o.json", 1, "connector", "connect", "o", settings), Surroundings())
    now = WHEN + timedelta(seconds=seconds)
    assert ids(list(check_heartbeat(database({}, [{}], [(now,)]), outbox, "o", AT_300))) == rule


def test_without_a_stored_offset_a_slot_is_not_compared() -> None:
    """Connect before 3.5 does not tell its offsets, and a new connector has none."""
    slot = {"confirmed_flush_lsn": "0/310", "active": True}
    assert ids(list(check_slot(database({}, [slot], [("0/300",)]), "s", "outbox"))) == []


@pytest.mark.parametrize(
    ("offset", "position"),
    [
        ({"lsn_proc": 768, "lsn": 512, "ts_usec": 1_795_343_400_000_000}, AT_300),
        ({"lsn": 768}, Position(0x300)),
        ({"transaction_id": None}, None),
        (None, None),
    ],
)
def test_the_position_of_a_connector_is_read(
    offset: dict[str, Any] | None, position: Position | None
) -> None:
    """The end of what was processed, or else the last change; and when that was committed."""
    assert (
        find_position({"offsets": [{"partition": {"server": "s"}, "offset": offset}]}) == position
    )


def test_without_any_offset_there_is_no_position() -> None:
    """A connector that has just been made has published nothing."""
    assert find_position({"offsets": []}) is None


def test_what_is_lost_comes_with_the_command_that_sends_it_again() -> None:
    """A lost slot names the time from which on events may be missing, with room for long ones."""
    lost = {"wal_status": "lost", "active": False}
    [found] = check_slot(database({}, [lost]), "s", "outbox", AT_300)
    assert "pipeline outbox resend --missing --since 2026-11-22T10:20:00Z" in found.message


def test_a_position_is_read_as_postgres_writes_it() -> None:
    """Two hexadecimal numbers are one of 64 bits."""
    assert parse_lsn("16/B374D848") == (0x16 << 32) + 0xB374D848


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ((3, ["all"], ["all"], "scram-sha-256"), []),
        ((3, ["all"], ["all"], "trust"), ["hba-trust"]),
        ((3, ["replication"], ["all"], "scram-sha-256"), ["hba-replication"]),
        ((3, ["replication"], ["cdc"], "scram-sha-256"), ["hba-replication"]),
        ((3, ["replication"], ["standby"], "scram-sha-256"), []),
    ],
)
def test_a_line_of_pg_hba_is_judged(line: tuple[Any, ...], rule: list[str]) -> None:
    """Trust hides a broken secret, and a replication line gives away the whole server."""
    found = list(check_logins(database({}, [], [line]), "cdc"))
    assert ids(found) == rule
    assert all("line 3" in one.fix for one in found)


@pytest.mark.parametrize(
    ("plugins", "open_to_all", "rule"),
    [
        ({POSTGRES: "3.7.0.Final"}, False, []),
        ({POSTGRES: "4.0.0.Final"}, False, []),
        ({POSTGRES: "3.6.3.Final"}, False, ["debezium-loses-rows"]),
        ({POSTGRES: "3.7.0.Final"}, True, ["connect-overrides-open"]),
        ({"org.example.Other": "1"}, False, ["plugin-missing"]),
    ],
)
def test_the_workers_are_judged(
    plugins: dict[str, str], open_to_all: bool, rule: list[str]
) -> None:
    """The plugin is there, is new enough, and connectors do not decide how they produce."""
    assert ids(list(check_workers(Cluster(plugins, lets_override=open_to_all)))) == rule


def test_a_state_without_a_task_is_found() -> None:
    """A connector that runs without any task publishes nothing, whatever its own state says."""
    states = {"o": {"connector": {"state": "RUNNING"}, "tasks": []}}
    assert ids(list(check_running(Cluster(states=states), "o"))) == ["connector-failed"]


@pytest.mark.parametrize(("state", "which"), [("FAILED", "&onlyFailed=true"), ("UNASSIGNED", "")])
def test_the_fix_restarts_what_does_not_run(state: str, which: str) -> None:
    """Connect would pass over an unassigned task, if it were asked to restart only what failed."""
    states = {"o": {"connector": {"state": "RUNNING"}, "tasks": [{"state": state}]}}
    found = next(check_running(Cluster(states=states), "o"))
    assert found.fix.endswith(f'restart?includeTasks=true{which}"')


def test_a_part_that_restarts_is_not_restarted() -> None:
    """Whoever runs what is printed, every second say, would never let a restart end."""
    states = {"o": {"connector": {"state": "RUNNING"}, "tasks": [{"state": "RESTARTING"}]}}
    [found] = check_running(Cluster(states=states), "o")
    assert found.id == "connector-restarting"
    assert "restart" not in found.fix


def test_the_last_cause_of_a_failure_is_told() -> None:
    """Of a Java trace, the message has the line that says what to fix."""
    trace = (
        "Exception: outer\n\tat a.b\nCaused by: java.X: middle\n\tat c\n"
        "Caused by: the real one\n\t... 3 more"
    )
    states = {
        "o": {"connector": {"state": "RUNNING"}, "tasks": [{"state": "FAILED", "trace": trace}]}
    }
    assert next(check_running(Cluster(states=states), "o")).message == "o is FAILED: the real one"


def test_an_offset_that_the_slot_no_longer_has_is_not_restarted() -> None:
    """A restart would fail for ever: the stored offset has to go, and somebody has to reconcile."""
    trace = (
        "Caused by: io.debezium.DebeziumException: "
        "It is at 0/1, but this is no longer available on the server."
    )
    states = {
        "o": {"connector": {"state": "RUNNING"}, "tasks": [{"state": "FAILED", "trace": trace}]}
    }
    found = next(check_running(Cluster(states=states), "o"))
    assert (found.id, found.fix.count("curl "), "reconcile" in found.message) == (
        "connector-offset-gone",
        3,
        True,
    )


def test_without_the_clients_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking at what runs takes an extra; without it, a sentence says what to install."""
    monkeypatch.delitem(sys.modules, "pipeline_check.live.parts", raising=False)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    found = look({})
    assert [(one.id, one.fix) for one in found] == [("cannot-look", EXTRA)]
    assert "psycopg is not installed" in found[0].message


UNCLEAN = {"min.insync.replicas": "2", "unclean.leader.election.enable": "true"}
THREE = Topic("t", 3, {"min.insync.replicas": "2", "unclean.leader.election.enable": "false"})


@pytest.mark.parametrize(
    ("topic", "brokers", "rule"),
    [
        (THREE, 3, []),
        (replace(THREE, replicas=1, settings={}), 3, ["topic-one-replica"]),
        (replace(THREE, replicas=1, settings={}), 1, []),
        (replace(THREE, settings={"min.insync.replicas": "1"}), 3, ["topic-acks-of-one"]),
        (replace(THREE, settings={"min.insync.replicas": "4"}), 3, ["topic-insync-blocks"]),
        (replace(THREE, settings=UNCLEAN), 3, ["topic-unclean-election"]),
    ],
)
def test_a_topic_of_a_larger_cluster_is_judged(topic: Topic, brokers: int, rule: list[str]) -> None:
    """What was acknowledged outlives one broker, where there is more than one."""
    assert ids(list(check_topic(topic, brokers))) == rule


def test_a_broker_that_makes_topics_is_found() -> None:
    """A misspelt topic is made there, and events go to it."""
    assert ids(list(check_brokers(Broker(3, {"auto.create.topics.enable": "true"})))) == [
        "broker-creates-topics"
    ]
    assert ids(list(check_brokers(Broker(3, {"auto.create.topics.enable": "false"})))) == []


@pytest.mark.parametrize(
    ("topics", "rule"),
    [
        ([Topic("offsets", 3, {"cleanup.policy": "compact"})], []),
        ([Topic("offsets", 3, {"cleanup.policy": "delete"})], ["worker-topic-expires"]),
        ([], ["worker-topic-missing"]),
    ],
)
def test_the_topics_of_a_worker_are_judged(topics: list[Topic], rule: list[str]) -> None:
    """What a worker knows of its connectors is on topics of Kafka, which must keep it."""
    broker = Broker(3, {}, {topic.name: topic for topic in topics})
    settings = {"offset.storage.topic": Setting("offsets", 1)}
    worker = Block("worker.properties", 1, "worker", "connect", settings=settings)
    assert ids(list(check_worker_topics(broker, [worker]))) == rule


def test_a_connect_that_does_not_tell_an_offset_in_time_is_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without its offsets topic Connect does not answer, and everything else is still checked."""

    def get(_session: requests.Session, _url: str, *, timeout: float) -> None:
        raise requests.Timeout(timeout)

    monkeypatch.setattr(requests.Session, "get", get)
    assert connect.read_position(requests.Session(), "http://connect", "o") is None


class Catalog(Lines):
    """A session that answers the queries about the catalog, and has no privilege granted."""

    info = SimpleNamespace(server_version=170_002, dbname="orders", user="reconciler")

    def execute(self, query: str | bytes, _values: object = ()) -> "Lines":
        """Answer each query as PostgreSQL would."""
        column = ["payload", "json", False]
        check = "CHECK ((octet_length((payload)::text) <= 262144))"
        answers: dict[str, Sequence[tuple[Any, ...]]] = {
            postgres.TABLES: [("public.outbox", [column], check, True)],
            postgres.PUBLICATIONS: [("outbox", False, ["insert"], ["public.outbox"])],
            postgres.SLOTS: [(SLOT | {"slot_type": "physical", "temporary": False},)],
            postgres.SETTINGS: [("fsync", "on")],
        }
        text = query if isinstance(query, str) else query.decode()
        is_about_privileges = "privilege" in text
        return Lines(answers.get(text, [(not is_about_privileges,)]))


def test_the_catalog_is_read_into_the_words_of_the_rules() -> None:
    """Tables with the limits of their CHECKs, publications, slots, version and standbys."""
    found = postgres.read_catalog(cast("psycopg.Connection[Any]", Catalog([])), "app")
    table = found.around.tables["public.outbox"]
    assert (table.columns["payload"].type, table.limits) == ("json", {"payload": 262_144})
    assert found.around.publications["outbox"].operations == {"insert"}
    assert (found.around.server_version, found.around.standbys) == (17, True)
    assert (found.place, found.settings) == ("postgres/orders", {"fsync": "on"})


def test_a_privilege_that_is_not_held_comes_with_its_grant() -> None:
    """The way to a table counts as well: the database and the schema."""
    found = postgres.read_catalog(cast("psycopg.Connection[Any]", Catalog([])), "app")
    intended = [Grant("insert", "event_id", "outbox", "app"), Grant("select", "", "gone", "app")]
    assert [one.fix for one in check_grants(found, intended)] == [
        "grant connect on database orders to app;",
        "grant usage on schema public to app;",
        "grant insert (event_id) on outbox to app;",
    ]


def test_connect_tells_its_converters_and_whether_it_allows_overrides(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What only the validation of a connector says of the worker is read from it."""
    override = {"name": "producer.override.acks", "errors": ["not allowed"]}
    answers: dict[str, Any] = {
        "/connector-plugins": [{"class": POSTGRES, "version": "3.7.0.Final"}],
        "/connectors?expand=info&expand=status": {
            "o": {"info": {"config": {"slot.name": "s"}}, "status": {"tasks": []}}
        },
        "/connector-plugins/PostgresConnector/config/validate": {
            "configs": [
                {
                    "definition": {"name": "key.converter", "default_value": "String"},
                    "value": override,
                }
            ]
        },
    }
    monkeypatch.setattr(connect, "ask", lambda _session, _method, url, _body=None: answers[url])
    found = connect.read_cluster(requests.Session(), "")
    assert found.worker
    assert found.worker.known("key.converter") == "String"
    assert not found.lets_override
    assert found.connectors["o"].known("slot.name") == "s"
