"""The files of connect/ agree with the contract and the migrations."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import ResourcePatternType  # type: ignore[attr-defined]

from connect import register
from connect import topics as topics_module
from connect.acls import Permission, all_acls, permissions
from connect.files import CONNECT, TOPICS, SettingsError, connector_files, read_json
from connect.register import PLACEMENT, POLL, last_cause, read_connector
from connect.settings import Settings
from connect.topics import add_topics, all_topics, published_topics, refuse_missing
from contract.events import EVENTS
from contract.extras import manifests
from contract.names import AUDIT_DATABASE, DATABASE, INPUT_TOPIC, OTHER_OUTBOXES, SUBSCRIBER
from migrations.server import MAY_ENTER
from migrations.settings import Settings as Migrations
from spark.settings import Settings as Spark

LITERAL, PREFIXED = ResourcePatternType.LITERAL, ResourcePatternType.PREFIXED
ROOT = CONNECT.parent
CONNECTORS = connector_files()


@pytest.mark.parametrize("file", sorted(CONNECT.glob("*.json")), ids=lambda file: file.name)
def test_no_key_is_given_twice(file: Path) -> None:
    """Each JSON file is read strictly: no key is in it twice."""
    assert read_json(file)


@pytest.mark.parametrize("text", ['{"a": 1, "b": 2, "a": 1}', '{"b": {"c": {"a": 1, "a": 2}}}'])
def test_control_a_key_given_twice_is_named(tmp_path: Path, text: str) -> None:
    """The error names the file and the key, at any depth."""
    file = tmp_path / "topics.json"
    file.write_text(text)
    with pytest.raises(SettingsError, match=r"/topics\.json: a is there twice$"):
        read_json(file)


def test_a_file_that_is_not_json_is_named(tmp_path: Path) -> None:
    """The error names the file, and where it stops being JSON."""
    file = tmp_path / "topics.json"
    file.write_text('{"a": ')
    with pytest.raises(SettingsError, match=r"/topics\.json is no JSON: .* line 1"):
        read_json(file)


def test_everything_published_has_its_topic() -> None:
    """Each event of the contract, each dead letter and each audit entry has a topic."""
    assert set(published_topics()) <= set(all_topics())
    assert {event.topic for event in EVENTS} <= set(published_topics())


def test_control_a_published_topic_that_is_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If one is missing, no topic is created: its events would be stuck in the connector."""
    kept = read_json(TOPICS)
    del kept[EVENTS[0].topic]
    file = tmp_path / "topics.json"
    file.write_text(json.dumps(kept))
    monkeypatch.setattr(topics_module, "TOPICS", file)
    with pytest.raises(SettingsError, match=f"topic {EVENTS[0].topic} .* add it$"):
        all_topics()


def test_every_aggregate_type_of_an_outbox_has_its_topic() -> None:
    """What the first revisions allow in an outbox is routed to a topic that exists."""
    types = set()
    for file in (ROOT / "migrations").glob("*/*.py"):
        for given in re.findall(r'create_outbox\(\s*"([^"]+)"', file.read_text()):
            types |= set(re.findall(r"'([\w-]+)'", given))
    assert len(types) > 3
    topics = {f"{kind}.events" for kind in types}
    refuse_missing(all_topics(), topics)
    assert topics - set(published_topics()) == set(), "not in contract/: nobody would land them"


def test_the_input_topic_has_the_name_of_its_setting() -> None:
    """INPUT_TOPIC changes the name, not the partitions or the retention."""
    named = all_topics("another.events")
    assert INPUT_TOPIC not in named
    assert named["another.events"] == all_topics()[INPUT_TOPIC]


def test_an_input_topic_that_is_another_topic_is_refused() -> None:
    """Two topics of one name are refused, because they would become one."""
    with pytest.raises(SettingsError, match=r"topic audit\.events of INPUT_TOPIC is .* already"):
        all_topics("audit.events")


def test_the_topics_of_extras_are_made_too() -> None:
    """Topics of manifests are created beside the core's; a name that is taken is refused."""
    for of_extra in manifests("topics").values():
        assert of_extra.items() <= all_topics().items()
    with pytest.raises(SettingsError, match=r"topic order\.events of extras/mine is in .* already"):
        add_topics({"order.events": {}}, "extras/mine", {"order.events": {}})


@pytest.mark.parametrize("file", CONNECTORS, ids=lambda file: file.stem)
def test_a_connector_reads_what_the_migrations_make(file: Path) -> None:
    """Its database, slot and publication are the migrations', and its heartbeat has a topic."""
    config = read_json(file)
    database = config["database.dbname"]
    assert database in Settings().databases(), "connect/settings.py does not say where that is"
    assert config["slot.name"] == f"{database}_outbox"
    made = (ROOT / "migrations" / "outbox.py").read_text()
    assert f"create publication {config['publication.name']} for table" in made
    heartbeat = f"{config['topic.heartbeat.prefix']}.{config['topic.prefix']}"
    assert heartbeat in all_topics()


def test_no_two_connectors_share_a_slot_or_a_prefix() -> None:
    """Two connectors on one slot would each miss what the other has read."""
    for key in ("slot.name", "topic.prefix", "database.dbname"):
        values = [read_json(file)[key] for file in CONNECTORS]
        assert len(set(values)) == len(values) > 1


def databases_of_the_parts() -> dict[str, set[str]]:
    """Return the databases with an outbox that each part knows, by the file that says so."""
    of_connectors = [read_json(file)["database.dbname"] for file in CONNECTORS]
    of_revisions = [file.parent.name for file in (ROOT / "migrations").glob("*/0001_*.py")]
    return {
        "migrations/settings.py": {*Migrations().databases()},
        "migrations/server.py": {*MAY_ENTER},
        "migrations/*/0001_*.py": {*of_revisions},
        "connect/settings.py": {*Settings().databases()},
        "connect/*-outbox.json": {*of_connectors},
        "spark/settings.py": {*Spark().databases()},
    }


def test_every_part_knows_every_outbox() -> None:
    """A part that one outbox was forgotten in is named, with the database."""
    named = {DATABASE, *OTHER_OUTBOXES.values()}
    parts = databases_of_the_parts().items()
    differ = {file: databases ^ named for file, databases in parts if databases != named}
    assert differ == {}, "these files and contract/names.py name different databases"


def write_connector(folder: Path, **changed: str) -> Path:
    """Return a third connector's file, which differs from the first in these keys."""
    config: dict[str, Any] = read_json(CONNECTORS[0])
    file = folder / "payments-outbox.json"
    file.write_text(json.dumps(config | {"database.dbname": changed["database"]}))
    return file


def may(principal: str, kind: str = "topics") -> dict[str, list[str]]:
    """Return what a principal may do with each thing of a kind."""
    return all_acls().get(principal, {}).get(kind, {})


def test_each_part_may_use_its_topics_and_no_others() -> None:
    """What is published may be written by Connect, and read by those who land and compare it."""
    published = {*published_topics()}
    own = {"connect-configs", "connect-offsets", "connect-status"}
    written = {name for name, may_do in may("connect").items() if "WRITE" in may_do}
    heartbeats = {"heartbeat.*"}
    assert published | heartbeats | own <= written <= {*all_topics()} - {INPUT_TOPIC} | heartbeats
    for reader in ("land", "reconciler"):
        assert published | {INPUT_TOPIC} <= may(reader).keys() <= all_topics().keys()
        assert {*map(tuple, may(reader).values())} == {("READ",)}
    assert may("service") == {INPUT_TOPIC: ["READ"]}
    assert may("service", "groups") == {SUBSCRIBER: ["READ"]}
    assert may("producer") == {INPUT_TOPIC: ["WRITE"]}


def test_every_permission_is_one_that_brokers_know() -> None:
    """A slip in the file is found here, and not on the cluster."""
    found = [permission.binding for permission in permissions(all_acls())]
    assert len(set(found)) == len(found) > 20
    topics = {name for resources in all_acls().values() for name in resources.get("topics", {})}
    whole_names = {name for name in topics if not name.endswith("*")}
    assert whole_names <= all_topics().keys()


def test_a_name_with_a_star_is_the_beginning_of_names() -> None:
    """The star alone is every name, which brokers do not take for a beginning."""
    beginning = Permission("me", "transactions", "mine*", "WRITE").binding
    everything = Permission("me", "topics", "*", "DESCRIBE").binding
    assert (beginning.name, beginning.resource_pattern_type) == ("mine", PREFIXED)
    assert (everything.name, everything.resource_pattern_type) == ("*", LITERAL)


def test_a_connector_gets_the_database_that_its_file_names(tmp_path: Path) -> None:
    """The address comes from the setting of that database, whatever the connector is called."""
    settings = Settings(
        database_url="postgresql://app@one:1111/first?sslmode=disable",
        audit_database_url="postgresql://audit@two:2222/second?sslmode=disable",
    )
    places = {}
    for database in (DATABASE, AUDIT_DATABASE):
        config = read_connector(settings, write_connector(tmp_path, database=database))
        names = ("hostname", "port", "dbname")
        places[database] = [config[f"database.{name}"] for name in names]
    assert places == {DATABASE: ["one", "1111", "first"], AUDIT_DATABASE: ["two", "2222", "second"]}


def test_a_connector_of_an_unknown_database_is_refused(tmp_path: Path) -> None:
    """A connector of an unknown database is refused; it does not get the first database."""
    file = write_connector(tmp_path, database="payments")
    sentence = f"payments-outbox: database.dbname is 'payments', which is not {DATABASE} or"
    with pytest.raises(SettingsError, match=sentence):
        read_connector(Settings(), file)


def test_how_often_a_connector_looks_is_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    """CONNECTOR_POLL_MS takes the place of what each file says; without it the file counts."""
    monkeypatch.delenv("CONNECTOR_POLL_MS", raising=False)
    for file in CONNECTORS:
        as_set = read_connector(Settings(connector_poll_ms=100), file)
        as_in_file = read_connector(Settings(), file)
        assert as_set[POLL] == "100"
        assert as_in_file[POLL] == read_json(file)[POLL] != "100"


def test_a_column_that_an_extra_adds_becomes_a_header(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the connector that its manifest names, and of no other; without extras nothing changes."""
    of_an_extra = {"mine": {"fulfillment-outbox": {"own": "of_mine"}}}
    found = {}
    for extras in ({}, of_an_extra):
        monkeypatch.setattr(register, "manifests", lambda _, extras=extras: extras)
        configs = [read_connector(Settings(), file) for file in CONNECTORS]
        found[len(extras)] = {config["topic.prefix"]: config[PLACEMENT] for config in configs}
    without, with_it = found[0], found[1]
    assert with_it["audit"] == without["audit"]
    assert with_it["fulfillment"] == without["fulfillment"] + ",own:header:of_mine"


def test_of_a_java_trace_the_last_cause_is_reported() -> None:
    """The last cause says what to fix; those above it only say who noticed."""
    trace = "org.X: failed\n\tat Y\nCaused by: java.Z: no such slot\n\tat W\n"
    assert last_cause(trace) == "java.Z: no such slot"
    assert last_cause("") == "no trace"
