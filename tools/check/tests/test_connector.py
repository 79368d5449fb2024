"""The rules about outbox connectors: what the field copies fails, a careful one passes."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline_check import connector as connector_rules
from pipeline_check.audit import audit, read_sources
from pipeline_check.connector.lint import is_outbox, judge, lint
from pipeline_check.connector.migrations import find_grants, find_publications, find_tables
from pipeline_check.connector.outbox import Outbox
from pipeline_check.connector.surroundings import Surroundings, Table
from pipeline_check.connector.values import RULES
from pipeline_check.reading.block import Block, Setting
from pipeline_check.reading.json_file import read_json
from pipeline_check.reading.read import read
from pipeline_check.rules.finding import Finding
from pipeline_check.walk import files

BY_TOPIC = "org.apache.kafka.connect.transforms.predicates.TopicNameMatches"
Changes = dict[str, str | None]
GOOD = Path(__file__).parent / "outbox"  # a connector, its worker and its tables, without a fault
CONNECTOR = json.loads((GOOD / "orders-outbox.json").read_text())
OUTBOX_SQL = (GOOD / "outbox.sql").read_text()
SOURCES = Path(connector_rules.__file__).parent
R = "transforms.outbox."


def connector(changes: Changes, file: str = "connect/orders-outbox.json") -> Block:
    """Return the good connector with these settings changed, or removed where they are None."""
    settings = {key: value for key, value in (CONNECTOR | changes).items() if value is not None}
    return read_json(file, json.dumps(settings))[0]


def worker(changes: Changes) -> Block:
    """Return its worker with these settings changed."""
    lines = (GOOD / "worker.properties").read_text().splitlines()
    good = dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))
    settings = {
        key: Setting(value, 1) for key, value in (good | changes).items() if value is not None
    }
    return Block("connect/worker.properties", 1, "worker", "connect", settings=settings)


def topics(size: str) -> list[Block]:
    """One topic that events go to, and one that they do not."""
    sizes = {"orders.events": size, "other": "10"}
    return [
        Block("t", 1, "topic", name=n, settings={"max.message.bytes": Setting(s, 1)})
        for n, s in sizes.items()
    ]


def ids(findings: Sequence[Finding]) -> list[str]:
    """What was found."""
    return sorted(finding.id for finding in findings)


def test_a_careful_connector_passes() -> None:
    """A careful connector beside its worker and its tables has no finding at all."""
    assert lint([connector({}), worker({}), *topics("1048588")], [OUTBOX_SQL]) == []


COPIED = {
    # A router behind a predicate that forgets the prefix: the match must be full, so it never runs.
    "predicate": (
        {
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "plugin.name": "pgoutput",
            "database.hostname": "postgres",
            "database.user": "someone",
            "database.password": "something",
            "database.dbname": "demo",
            "topic.prefix": "demo",
            "table.include.list": "kafka_demo_idempotent_consumer.outbox_event",
            "transforms": "outbox",
            "transforms.outbox.type": "io.debezium.transforms.outbox.EventRouter",
            "transforms.outbox.predicate": "ours",
            "predicates": "ours",
            "predicates.ours.type": BY_TOPIC,
            "predicates.ours.pattern": "kafka_demo_idempotent_consumer.outbox_event",
        },
        {
            "predicate-matches-nothing",
            "heartbeat-off",
            "slot-name-default",
            "secret-in-clear",
            "snapshot-mode",
        },
    ),
    # The outbox example that everybody starts from.
    "example": (
        {
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "tasks.max": "1",
            "database.hostname": "postgres",
            "database.user": "someone",
            "database.password": "something",
            "database.dbname": "orders",
            "topic.prefix": "dbserver1",
            "table.include.list": "public.outboxevent",
            "transforms": "outbox",
            "transforms.outbox.type": "io.debezium.transforms.outbox.EventRouter",
            "transforms.outbox.route.topic.replacement": "${routedByValue}.events",
            "transforms.outbox.table.fields.additional.placement": "type:header:eventType",
        },
        {
            "heartbeat-off",
            "slot-name-default",
            "publication-name-default",
            "snapshot-mode",
            "secret-in-clear",
        },
    ),
}


@pytest.mark.parametrize("name", COPIED)
def test_what_the_field_copies_fails(name: str) -> None:
    """The two configurations that are copied most fail for what is wrong with each of them."""
    config, expected = COPIED[name]
    found = lint(read_json("copied.json", json.dumps({"name": "outbox", "config": config})), [])
    assert expected <= set(ids(found))
    assert ("predicate-matches-nothing" in ids(found)) == (name == "predicate")


def test_a_predicate_gets_a_pattern_that_matches() -> None:
    """The pattern in the fix, pasted, is one that the rule accepts."""
    copied, _ = COPIED["predicate"]
    config = dict(copied)
    found = lint(read_json("copied.json", json.dumps(config)), [])
    [finding] = [each for each in found if each.id == "predicate-matches-nothing"]
    others = [each for each in ids(found) if each != finding.id]

    fix = json.loads(f"{{{finding.fix}}}")
    fixed = json.dumps(config | fix)
    again = lint(read_json("copied.json", fixed), [])

    assert ids(again) == others


PREDICATE = {
    f"{R}predicate": "p",
    "predicates": "p",
    "predicates.p.type": BY_TOPIC,
}
PLACED = f"{R}table.fields.additional.placement"
JSON = "org.apache.kafka.connect.json.JsonConverter"
# What is changed in connector, worker and migrations, and the one finding that it makes.
CASES: list[tuple[str, Changes, Changes, tuple[str, str]]] = [
    ("predicate-unknown", {f"{R}predicate": "p"}, {}, ("", "")),
    (
        "predicate-matches-nothing",
        {**PREDICATE, "predicates.p.pattern": "public.outbox"},
        {},
        ("", ""),
    ),
    (
        "predicate-matches-nothing",
        {**PREDICATE, "predicates.p.pattern": ".*outbox", f"{R}negate": "true"},
        {},
        ("", ""),
    ),
    ("outbox-not-published", {}, {}, ("for table outbox, heartbeat", "for table heartbeat")),
    ("insert-not-published", {}, {}, ("publish = 'insert, update'", "publish = 'update'")),
    ("route-group", {f"{R}route.topic.replacement": "${routedBy}.events"}, {}, ("", "")),
    ("route-constant", {f"{R}route.topic.replacement": "events"}, {}, ("", "")),
    ("heartbeat-off", {"heartbeat.interval.ms": None}, {}, ("", "")),
    ("heartbeat-writes-nothing", {"heartbeat.action.query": None}, {}, ("", "")),
    ("heartbeat-not-published", {}, {}, ("for table outbox, heartbeat", "for table outbox")),
    (
        "heartbeat-operation-not-published",
        {},
        {},
        ("publish = 'insert, update'", "publish = 'insert'"),
    ),
    ("heartbeat-included", {"table.include.list": "public.outbox,public.heartbeat"}, {}, ("", "")),
    ("outbox-table-unknown", {}, {}, ("create table outbox (", "create table outbox_of_another (")),
    ("router-column-missing", {f"{R}table.field.event.id": None}, {}, ("", "")),
    ("router-column-missing", {f"{R}table.field.event.key": "aggregateid"}, {}, ("", "")),
    ("router-column-missing", {f"{R}route.by.field": "aggregatetype"}, {}, ("", "")),
    ("router-column-missing", {PLACED: "type:header:event_type"}, {}, ("", "")),
    ("placement-unreadable", {PLACED: "event_type:headers"}, {}, ("", "")),
    (
        "event-timestamp-type",
        {f"{R}table.field.event.timestamp": "occurred_at"},
        {},
        ("occurred_at    timestamptz", "occurred_at    bigint"),
    ),
    ("event-timestamp-type", {f"{R}table.field.event.timestamp": "occurred_at"}, {}, ("", "")),
    ("topic-prefix", {"topic.prefix": None}, {}, ("", "")),
    ("topic-prefix", {"topic.prefix": None, "database.server.name": "orders"}, {}, ("", "")),
    (
        "table-whitelist",
        {"table.include.list": None, "table.whitelist": "public.outbox"},
        {},
        ("", ""),
    ),
    ("payload-nullable", {}, {}, ("json not null", "json")),
    ("payload-jsonb", {}, {}, ("payload        json ", "payload        jsonb ")),
    ("payload-unbounded", {}, {}, ("check (octet_length(payload::text) <= 262144)", "")),
    ("header-nullable", {}, {}, ("traceparent    text not null", "traceparent    text")),
    ("header-time", {}, {}, ("occurred_at    timestamptz", "occurred_at    timestamp")),
    ("insert-header-parsed", {"transforms.source.value.literal": "1.0"}, {}, ("", "")),
    ("insert-header-parsed", {"transforms.source.value.literal": "true"}, {}, ("", "")),
    ("key-quoted", {"key.converter": JSON}, {}, ("", "")),
    ("key-quoted", {}, {"key.converter": JSON}, ("", "")),
    ("header-quoted", {}, {"header.converter": JSON}, ("", "")),
    ("value-quoted", {"value.converter": JSON}, {}, ("", "")),
    ("value-converter-unknown", {}, {"value.converter": None}, ("", "")),
    (
        "value-converter",
        {"value.converter": "io.debezium.converters.BinaryDataConverter"},
        {},
        ("", ""),
    ),
    ("size-above-connect", {}, {"producer.max.request.size": "262144"}, ("", "")),
    ("secret-in-clear", {"database.password": "hunter2"}, {}, ("", "")),
    ("secret-provider", {"database.password": "${vault:/run/secrets:cdc_password}"}, {}, ("", "")),
    ("secret-path", {"database.password": "${dir:/etc:cdc_password}"}, {}, ("", "")),
    ("secret-any-path", {}, {"config.providers.dir.param.allowed.paths": None}, ("", "")),
    ("exactly-once-worker", {"exactly.once.support": "required"}, {}, ("", "")),
    ("exactly-once-boundary", {"transaction.boundary": "connector"}, {}, ("", "")),
    ("override-refused", {"producer.override.linger.ms": "5"}, {}, ("", "")),
    ("slot-name-default", {"slot.name": None}, {}, ("", "")),
    ("publication-autocreate", {"publication.autocreate.mode": None}, {}, ("", "")),
    ("publication-autocreate", {"publication.autocreate.mode": "filtered"}, {}, ("", "")),
    ("plugin-name", {"plugin.name": None}, {}, ("", "")),
    ("snapshot-mode", {"snapshot.mode": None}, {}, ("", "")),
    ("snapshot-mode", {"snapshot.mode": "when_needed"}, {}, ("", "")),
    ("slot-drop-on-stop", {"slot.drop.on.stop": "true"}, {}, ("", "")),
    ("offset-mismatch", {"offset.mismatch.strategy": "trust_slot"}, {}, ("", "")),
    ("lsn-flush", {"lsn.flush.mode": "connector_and_driver"}, {}, ("", "")),
    ("lsn-flush", {"flush.lsn.source": "false"}, {}, ("", "")),
    ("failure-skipped", {"event.processing.failure.handling.mode": "skip"}, {}, ("", "")),
    ("errors-tolerated", {"errors.tolerance": "all"}, {}, ("", "")),
    ("inserts-skipped", {"skipped.operations": "c, t"}, {}, ("", "")),
    ("outbox-update-ignored", {f"{R}table.op.invalid.behavior": None}, {}, ("", "")),
    ("payload-expanded", {f"{R}table.expand.json.payload": "true"}, {}, ("", "")),
    ("empty-payload-tombstone", {f"{R}route.tombstone.on.empty.payload": "true"}, {}, ("", "")),
    ("tombstones", {"tombstones.on.delete": None}, {}, ("", "")),
    ("extended-headers", {"extended.headers.enabled": None}, {}, ("", "")),
]


@pytest.mark.parametrize(("rule", "changes", "of_worker", "in_sql"), CASES)
def test_a_rule_finds_its_defect_and_nothing_else(
    rule: str, changes: Changes, of_worker: Changes, in_sql: tuple[str, str]
) -> None:
    """One change to the good files makes exactly the finding of its rule, with a fix."""
    assert in_sql[0] in OUTBOX_SQL
    sql = OUTBOX_SQL.replace(*in_sql)
    found = lint([connector(changes), worker(of_worker), *topics("1048588")], [sql])
    assert ids(found) == [rule]
    assert found[0].fix
    assert found[0].message


def test_a_topic_smaller_than_the_payload_is_found() -> None:
    """Of the topics, only those that events go to must take what the database lets in."""
    found = lint([connector({}), worker({}), *topics("1000")], [OUTBOX_SQL])
    assert ids(found) == ["size-above-topic"]
    assert "orders.events" in found[0].message


def test_a_topic_without_a_size_takes_what_its_broker_takes() -> None:
    """Where the topic says nothing, the broker's limit counts."""
    broker = Block("t", 1, "broker", settings={"message.max.bytes": Setting("1000", 1)})
    topic = Block("t", 1, "topic", name="orders.events")
    assert ids(lint([connector({}), worker({}), broker, topic], [OUTBOX_SQL])) == [
        "size-above-topic"
    ]
    assert lint([connector({}), worker({}), topic], [OUTBOX_SQL]) == []


def test_publication_and_tables_that_are_left_out_are_found() -> None:
    """Without a publication's name the default is judged; without a table list, all tables are."""
    found = lint(
        [connector({"publication.name": None, "table.include.list": None}), worker({})],
        [OUTBOX_SQL],
    )
    assert ids(found) == ["outbox-table-unknown", "publication-name-default", "table-include-list"]


def test_the_router_takes_a_time_without_a_zone() -> None:
    """Control: the one type that the event router takes for the time of an event."""
    sql = OUTBOX_SQL.replace("occurred_at    timestamptz", "occurred_at    timestamp(3)")
    timed = connector({f"{R}table.field.event.timestamp": "occurred_at"})
    assert "event-timestamp-type" not in ids(lint([timed, worker({})], [sql]))


def test_rules_of_publications_are_for_pgoutput_alone() -> None:
    """Another plugin reads no publication, so that its name does not matter."""
    nameless: Changes = {"publication.name": None}
    own = connector(nameless)
    other = connector({**nameless, "plugin.name": "wal2json"})
    of_own = lint([own, worker({})], [OUTBOX_SQL])
    of_other = lint([other, worker({})], [OUTBOX_SQL])
    assert "publication-name-default" in ids(of_own)
    assert "publication-name-default" not in ids(of_other)


def test_an_outbox_of_another_database_has_one_note() -> None:
    """MySQL's outbox is seen, and nothing is said of it that holds for PostgreSQL only."""
    mysql = connector({"connector.class": "io.debezium.connector.mysql.MySqlConnector"})
    assert ids(lint([mysql, worker({})], [OUTBOX_SQL])) == ["outbox-not-judged"]


@pytest.mark.parametrize(
    "password", ["${env:PASSWORD}", "${secretsManager:orders:password}", "${CDC_PASSWORD}", "$PW"]
)
def test_a_password_from_elsewhere_is_not_in_clear(password: str) -> None:
    """A provider's, whatever its name is, and one that a shell fills in."""
    found = lint([connector({"database.password": password})], [OUTBOX_SQL])
    assert "secret-in-clear" not in ids(found)


SCRIPT = """
set -eu
curl -s -X POST localhost:8083/connectors -H "Content-Type: application/json" -d '{
  "name": "outbox",
  "config": {
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "database.password": "'"$PASSWORD"'",
    "tasks.max": 1,
    "snapshot.mode": "always"
  }
}' | jq .
"""
HEREDOC = """
curl -X PUT $CONNECT/connectors/outbox/config -d @- <<EOF
{
  "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
  "database.port": ${PORT},
  "snapshot.mode": "always"
}
EOF
"""
TERRAFORM = """
resource "kafka-connect_connector" "outbox" {
  name = "outbox"
  config = {
    "name"            = "outbox"
    "connector.class" = "io.debezium.connector.postgresql.PostgresConnector"
    "database.password" = var.password
    "snapshot.mode"   = "always"
    "transforms.outbox.route.topic.replacement" = "$${routedByValue}.events"
  }
}
"""


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [("register.sh", SCRIPT, 9), ("put.sh", HEREDOC, 6), ("connect.tf", TERRAFORM, 8)],
)
def test_a_connector_inside_a_script_is_read(
    tmp_path: Path, name: str, text: str, line: int
) -> None:
    """Its settings have the lines of the file around it; what a variable brings is unknown."""
    file = tmp_path / name
    file.write_text(text)
    [block] = read(file)
    assert block.kind == "connector"
    assert block.line_of("snapshot.mode") == line
    assert block.known("snapshot.mode") == "always"
    assert block.known("database.password") is None


def test_a_connector_that_a_script_puts_together_is_a_note(tmp_path: Path) -> None:
    """What is no JSON before the script has run is nobody's error."""
    file = tmp_path / "register.sh"
    file.write_text('BODY="{ \\"connector.class\\": $(cat class), $MORE }"')
    assert [block.kind for block in read(file)] == ["unjudged"]


def test_a_config_map_may_hold_a_connector(tmp_path: Path) -> None:
    """With the lines of the map around it."""
    file = tmp_path / "map.yaml"
    body = json.dumps(CONNECTOR, indent=2).replace("\n", "\n    ")
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  outbox.json: |\n    "
    file.write_text(f"{head}{body}\n")
    [block] = read(file)
    assert block.kind == "connector"
    assert "connector.class" in file.read_text().splitlines()[block.line_of("connector.class") - 1]


def test_a_shared_slot_is_found() -> None:
    """Two connectors of one server with the same slot: only one of them can run."""
    one = connector({})
    neighbour = connector({"topic.prefix": "other"}, "other.json")
    elsewhere = connector({"database.hostname": "elsewhere"}, "other.json")
    of_one_server = lint([one, neighbour, worker({})], [OUTBOX_SQL])
    of_two_servers = lint([one, elsewhere, worker({})], [OUTBOX_SQL])
    assert ids(of_one_server) == ["slot-shared", "slot-shared"]
    assert of_two_servers == []


@pytest.mark.parametrize(
    ("version", "standbys", "failover", "rule"),
    [
        (16, True, "true", "failover-unsupported"),
        (17, True, "false", "failover-off"),
        (17, True, "true", ""),
        (17, False, "false", ""),
        (16, True, "false", ""),
    ],
)
def test_failover_is_asked_for_where_the_server_has_it(
    version: int, standbys: bool, failover: str, rule: str
) -> None:
    """A standby needs slot.failover from version 17 on, and before that there is none."""
    around = Surroundings(worker=worker({}), server_version=version, standbys=standbys)
    outbox = Outbox(connector({"slot.failover": failover}), around)
    found = [each for each in ids(judge(outbox)) if each != "outbox-table-unknown"]
    expected = [rule] if rule else []
    assert found == expected


def test_a_heartbeat_table_without_replica_identity_is_found() -> None:
    """The server refuses to update a published table that has no replica identity."""
    around = Surroundings(
        tables={"public.heartbeat": Table("public.heartbeat", updatable=False)}, worker=worker({})
    )
    assert "replica-identity" in ids(judge(Outbox(connector({}), around)))


def test_what_comes_from_elsewhere_is_not_judged() -> None:
    """A provider's value is neither right nor wrong, and a missing worker is no default."""
    assert "snapshot-mode" not in ids(
        lint([connector({"snapshot.mode": "${env:MODE}"})], [OUTBOX_SQL])
    )
    assert ids(lint([connector({})], [OUTBOX_SQL])) == ["value-converter-unknown"]


def test_other_connectors_are_left_alone() -> None:
    """A connector without an event router is none of ours."""
    other = read_json(
        "other.json", json.dumps({"connector.class": "org.example.FileSource", "file": "x"})
    )[0]
    assert not is_outbox(Outbox(other, Surroundings()))
    assert lint([other], []) == []


def test_grants_are_read_from_migrations() -> None:
    """Privileges, columns and roles as they are written; a placeholder is nobody that we know."""
    sql = """
        grant select, insert on table outbox, other to app, "x";  -- grant delete on outbox to app
        GRANT update (a, b) ON t TO app; grant all on t to admin; grant select on t to {writer};
        op.execute("grant connect on database d to cdc")
    """
    found = [tuple(grant) for grant in find_grants([sql])]
    assert found[:4] == [
        ("select", "", "outbox", "app"), ("select", "", "other", "app"),
        ("insert", "", "outbox", "app"), ("insert", "", "other", "app"),
    ]  # fmt: skip
    assert found[4:6] == [("update", "a", "t", "app"), ("update", "b", "t", "app")]
    assert [one[0] for one in found if one[3] == "admin"] == [
        "select",
        "insert",
        "update",
        "delete",
    ]
    assert found[-1] == ("connect", "", "database d", "cdc")
    assert {one[3] for one in found} == {"app", "admin", "cdc"}


def test_what_a_later_revision_takes_back_is_not_granted() -> None:
    """A revoke of an upgrade counts; what a downgrade grants or revokes does not."""
    first = """
        op.execute("grant select, delete on t to app; grant insert on t to app")
    """
    second = '''
RIGHTS = """
    revoke delete on t from app;
"""
DOWN = """
    grant delete on t to app; revoke select on t from app;
"""

def downgrade() -> None:
    op.execute("revoke insert on t from app; grant update on t to app")
    '''
    assert [grant.privilege for grant in find_grants([first, second])] == ["select", "insert"]


def test_what_is_created_in_two_ways_is_not_judged() -> None:
    """A table or a publication that two migrations make differently is neither of the two."""
    other = "create table outbox (id uuid); create publication outbox for table outbox;"
    assert find_tables([OUTBOX_SQL]).keys() == {"public.outbox", "public.heartbeat"}
    assert find_tables([OUTBOX_SQL, other]).keys() == {"public.heartbeat"}
    assert find_publications([OUTBOX_SQL, other]) == {}


KEYS = sorted(
    {
        *CONNECTOR,
        *PREDICATE,
        "predicates.p.pattern",
        "transforms",
        "producer.override.max.request.size",
        "skipped.operations",
    }
)
WORDS = [
    "create table ",
    "outbox",
    " (",
    ")",
    ",",
    "id uuid",
    " not null",
    " check (length(id) < ",
    "9" * 30,
    "alter table ",
    "create publication p for table ",
    "grant ",
    "select (",
    " on ",
    " to ",
    "'",
    ";",
    "--",
    "\n",
    "{x}",
    "(?<a>",
    "${b}",
]


@given(
    st.dictionaries(
        st.sampled_from(KEYS),
        st.one_of(st.text(max_size=20), st.sampled_from([*WORDS, *CONNECTOR.values()])),
    ),
    st.lists(st.sampled_from(WORDS), max_size=60).map("".join),
)
@settings(max_examples=60, derandomize=True, deadline=None)
def test_no_text_makes_the_rules_fail(changed: dict[str, str], sql: str) -> None:
    """Whatever is in a connector or in the SQL beside it, the rules say what they find, and end."""
    found = lint(
        [connector({**changed}), worker({"producer.max.request.size": sql}), *topics(sql)],
        [OUTBOX_SQL, sql],
    )
    assert all(finding.message and finding.fix for finding in found)


def test_every_rule_has_a_case() -> None:
    """Every rule has a change that triggers it; the good files trigger none."""
    sources = "".join(file.read_text() for file in SOURCES.glob("*.py"))
    written = set(re.findall(r'outbox\.(?:error|warning|note)\(\s*"([a-z-]+)"', sources)) | {
        rule.id for rule in RULES
    }
    text = Path(__file__).read_text()
    assert {one for one in written if f'"{one}"' not in text} == set()
    assert len(written) > 40


def test_the_audit_asks_the_rules(tmp_path: Path) -> None:
    """`pipeline check` holds a connector in a folder against the SQL beside it."""
    (tmp_path / "connector.json").write_text(
        json.dumps(CONNECTOR | {"slot.drop.on.stop": "true", "snapshot.mode": "initial"})
    )
    (tmp_path / "tables.sql").write_text("create table outbox (id uuid);")
    found = audit(read_sources(files([tmp_path]), []), {}).findings
    wanted = {"snapshot-mode", "slot-drop-on-stop", "router-column-missing"}
    assert wanted <= {one.id for one in found if one.file == str(tmp_path / "connector.json")}
