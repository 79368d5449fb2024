"""Migrations up and down, and what each role may not do."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from alembic import command
from sqlalchemy import Engine, TextClause, make_url, text

from access.embedded import tool
from connect.topics import all_topics
from contract.names import AUDIT_DATABASE, DATABASE, SUBSCRIBER
from migrations.revisions import alembic_config, installed_extras
from migrations.settings import Settings
from ops.settings import ROOT
from ops.stack.stack import Stack
from service import write as write_module
from service.database import connect_to
from service.dedup.tracking import FRESH
from service.handler import split_conflicts
from service.write import Rule, statement, write
from tests.builders import record, value
from tests.client import connect, fresh, query, until

Env = dict[str, str]


@pytest.fixture
def copies(spoiled: Stack) -> Iterator[Env]:
    """Return the environment of two more databases on the same server; remove them afterwards."""
    env = dict(spoiled.env())
    for setting in ("DATABASE_URL", "AUDIT_DATABASE_URL"):
        name = fresh("copy").replace("-", "_")
        env[setting] = make_url(env[setting]).set(database=name).render_as_string()
    yield env
    with connect("postgres", "postgres") as admin:
        for name in names(env):
            admin.execute(f"drop database if exists {name} with (force)".encode())


def names(env: Env) -> list[str]:
    """Return the names of the two databases."""
    return [
        make_url(env[setting]).database or "" for setting in ("DATABASE_URL", "AUDIT_DATABASE_URL")
    ]


def migrate(env: Env, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the migrations once."""
    command = [sys.executable, "-m", "migrations", *words]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)


def schema(env: Env) -> str:
    """Return what pg_dump and the publications say of the two databases."""
    described = ""
    for name in names(env):
        url = make_url(env["ADMIN_DATABASE_URL"]).set(database=name).render_as_string()
        command = [tool("pg_dump"), "--schema-only", "--restrict-key=test", url]
        described += subprocess.run(
            command, env=env, capture_output=True, text=True, check=True
        ).stdout
        described += repr(
            query(
                "select * from pg_publication_tables order by 1, 2, 3",
                database=name,
                role="postgres",
            )
        )
    return described


def test_upgrade_downgrade_upgrade_gives_the_same_schema(copies: Env) -> None:
    """Up, down and up again gives the same dump and publications, and nothing is left between."""
    assert migrate(copies, "upgrade", "--without-slots").returncode == 0
    first = schema(copies)
    assert migrate(copies, "downgrade").returncode == 0
    tables = """
        select tablename from pg_tables
        where schemaname = 'public' and tablename <> 'alembic_version'
    """
    assert [query(tables, database=name, role="postgres") for name in names(copies)] == [[], []]
    assert migrate(copies, "upgrade", "--without-slots").returncode == 0
    assert schema(copies) == first
    assert "CREATE TABLE public.outbox" in first


def refused(env: Env, *words: str) -> str:
    """Return the one sentence with which the migrations refuse."""
    done = migrate(env, *words)
    assert (done.returncode, done.stdout) == (2, "")
    [sentence] = done.stderr.splitlines()
    return sentence


def revisions(env: Env) -> set[str]:
    """Return the newest applied revision of each branch of the first database."""
    found = query(
        "select version_num from alembic_version", database=names(env)[0], role="postgres"
    )
    return {revision for (revision,) in found}


def execute(env: Env, statement: str) -> None:
    """Change something in the first database, as the administrator."""
    with connect(names(env)[0], "postgres") as admin:
        admin.execute(statement.encode())


def test_a_database_of_somebody_else_is_refused(copies: Env) -> None:
    """Tables that no revision of ours made are named in one sentence, and nothing is added."""
    with connect("postgres", "postgres") as admin:
        admin.execute(f"create database {names(copies)[0]}".encode())
    execute(copies, "create table tracking (shipment text)")
    sentence = refused(copies, "upgrade", "--without-slots")
    assert "has tables that none of our revisions made (tracking)" in sentence
    tables = "select tablename from pg_tables where schemaname = 'public'"
    assert query(tables, database=names(copies)[0], role="postgres") == [("tracking",)]


@pytest.mark.parametrize(
    "revision", ["0099", "9f1c2", *(f"{extra}_0099" for extra in sorted(installed_extras())[:1])]
)
def test_a_revision_that_nobody_knows_is_refused(copies: Env, revision: str) -> None:
    """A later version of the project has been here: one sentence names the revision."""
    assert migrate(copies, "upgrade", "--without-slots").returncode == 0
    execute(copies, "delete from alembic_version")
    execute(copies, f"insert into alembic_version values ('{revision}')")
    for words in (("upgrade", "--without-slots"), ("downgrade",)):
        assert f"is at revision {revision}, which is not here" in refused(copies, *words)


def migrate_in(tree: Path, env: Env, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the migrations of another tree."""
    command = [sys.executable, "-m", "migrations", *words]
    return subprocess.run(
        command, cwd=tree, env=env, capture_output=True, text=True, timeout=60, check=False
    )


needs_extras = pytest.mark.skipif(not installed_extras(), reason="there is no extra here")


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """The migrations without any extra."""
    for name in ("contract", "migrations"):
        shutil.copytree(ROOT / name, tmp_path / name)
    (tmp_path / "extras").mkdir()
    return tmp_path


@needs_extras
def test_the_tables_of_an_extra_that_has_left_stay(copies: Env, bare: Path) -> None:
    """An upgrade without the extra keeps its tables and says nothing; a downgrade refuses."""
    assert migrate(copies, "upgrade", "--without-slots").returncode == 0
    whole = (schema(copies), revisions(copies))
    done = migrate_in(bare, copies, "upgrade", "--without-slots")
    assert (done.returncode, done.stderr) == (0, "")
    assert (schema(copies), revisions(copies)) == whole
    refusal = migrate_in(bare, copies, "downgrade")
    assert refusal.returncode == 2
    assert "which is not here: put extras/" in refusal.stderr
    assert (schema(copies), revisions(copies)) == whole


@needs_extras
def test_an_extra_that_comes_later_finds_its_place(copies: Env, bare: Path) -> None:
    """A database that was made without extras, and then with them, is as if they had been there."""
    assert migrate_in(bare, copies, "upgrade", "--without-slots").returncode == 0
    few = revisions(copies)
    assert migrate(copies, "upgrade", "--without-slots").returncode == 0
    assert len(revisions(copies)) > len(few)
    assert migrate(copies, "downgrade").returncode == 0
    tables = "select tablename from pg_tables where schemaname = 'public' and tablename <> %s"
    left = query(tables, "alembic_version", database=names(copies)[0], role="postgres")
    assert left == []


NOTED = """
EVENTS = (*EVENTS, Event("parcel-noted", "parcel.events", follows=ACCEPTED))
"""
ALLOWS_IT = '''"""An aggregate type of one's own."""

from migrations.aggregate_types import allow_aggregate_type, forbid_aggregate_type

revision = "own_0001"
down_revision = "0001"


def upgrade() -> None:
    """Let parcels into the outbox."""
    allow_aggregate_type("parcel")


def downgrade() -> None:
    """Take them back."""
    forbid_aggregate_type("parcel")
'''


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """The migrations with every extra, and a contract that publishes one more event."""
    for name in ("contract", "migrations", "extras"):
        shutil.copytree(ROOT / name, tmp_path / name)
    with (tmp_path / "contract" / "events.py").open("a") as events:
        events.write(NOTED)
    return tmp_path


def test_an_event_that_the_outbox_would_refuse_is_told(copies: Env, own: Path) -> None:
    """Without a revision that allows its aggregate type, one sentence names it, exit code 2."""
    done = migrate_in(own, copies, "upgrade", "--without-slots")
    assert done.returncode == 2
    [sentence] = done.stderr.splitlines()
    assert "takes no aggregate type parcel (parcel-noted in contract/events.py)" in sentence


def test_a_revision_of_ones_own_takes_nothing_back(copies: Env, own: Path) -> None:
    """What it lets into the outbox is beside what the core and the extras have let in."""
    (own / "migrations" / DATABASE / "own_0001.py").write_text(ALLOWS_IT)
    for _ in range(2):
        done = migrate_in(own, copies, "upgrade", "--without-slots")
        assert done.returncode == 0, done.stderr
        assert allowed_types(names(copies)[0]) == {*allowed_types(DATABASE), "parcel"}
        assert migrate_in(own, copies, "downgrade").returncode == 0


def allowed_types(database: str) -> set[str]:
    """Return the aggregate types that the outbox of a database takes."""
    checks = """
        select pg_get_constraintdef(oid) from pg_constraint
        where conrelid = 'outbox'::regclass
            and contype = 'c'
            and pg_get_constraintdef(oid) like '%%aggregate_type%%'
    """
    [(check,)] = query(checks, database=database, role="postgres")
    return set(re.findall(r"'([\w-]+)'", check))


@pytest.mark.parametrize("database", [DATABASE, AUDIT_DATABASE])
def test_every_aggregate_type_has_its_topic(spoiled: Stack, database: str) -> None:
    """What the database lets into an outbox, extras included, is routed to a topic that is made."""
    types = allowed_types(database)
    assert types
    assert {f"{kind}.events" for kind in types} <= set(all_topics())


def test_an_upgrade_changes_nothing_the_second_time(spoiled: Stack) -> None:
    """A second upgrade finds roles, databases, tables and slots, and changes nothing."""
    slots = "select slot_name, restart_lsn is not null, active from pg_replication_slots order by 1"
    before = query(slots)
    done = migrate(dict(spoiled.env()), "upgrade")
    assert done.returncode == 0, done.stderr
    assert (
        query(slots) == before == [("audit_outbox", True, True), ("fulfillment_outbox", True, True)]
    )


def test_a_slot_in_use_is_not_dropped(spoiled: Stack) -> None:
    """A downgrade under a running connector is refused in one sentence, and removes nothing."""
    done = migrate(dict(spoiled.env()), "downgrade")
    assert done.returncode == 1
    assert done.stderr.startswith("slot fulfillment_outbox is in use")
    assert query("select count(*) from tracking")


def test_a_copy_does_not_touch_the_slot_of_the_original(copies: Env) -> None:
    """Slots belong to the server: a second database cannot take a name, nor drop its slot."""
    done = migrate(copies, "upgrade")
    assert "belongs to database fulfillment" in done.stderr
    assert migrate(copies, "downgrade").returncode == 0
    assert len(query("select 1 from pg_replication_slots")) == 2


@contextmanager
def service_of(env: Env) -> Iterator[Engine]:
    """Return the service's own way to the first database."""
    engine = connect_to(env["DATABASE_URL"], Path(env["DATABASE_PASSWORD_FILE"]), 5)
    yield engine
    engine.dispose()


def write_all(engine: Engine, subjects: dict[str, str]) -> None:
    """Handle a good message for each of these subjects, one after the other."""
    for message_id, subject in subjects.items():
        [batch] = split_conflicts([record(message_id, value(subject))])
        write(engine, SUBSCRIBER, FRESH, batch)


def go_back(env: Env, revision: str, database: str = DATABASE) -> None:
    """Take a database back to a revision of the core."""
    settings = Settings(
        admin_database_url=env["ADMIN_DATABASE_URL"],
        admin_database_password_file=Path(env["ADMIN_DATABASE_PASSWORD_FILE"]),
        database_url=env["DATABASE_URL"],
        audit_database_url=env["AUDIT_DATABASE_URL"],
    )
    with alembic_config(settings, database, {}) as config:
        command.downgrade(config, revision)


BUSINESS_ROWS = """
    select subscriber, message_id, encode(value_sha256, 'hex'), '' as fulfilled_by
    from fulfillment
    union all
    select subscriber, message_id, encode(value_sha256, 'hex'), fulfilled_by
    from rejection
    order by message_id
"""
BUILDS = """
    select wait_event_type
    from pg_stat_activity
    where datname = current_database() and query like 'create index concurrently%%'
"""


def test_what_is_there_already_gets_its_value(copies: Env) -> None:
    """From tracking, and a rejection from its event; what cannot be known is null, or not there.

    Killed before it was noted, the revision is run again, and says the same.
    """
    database = names(copies)[0]
    subjects = {"m-1": "s-1", "m-1-again": "s-1", "m-2": "s-2", "m-2-again": "s-2"}
    assert migrate(copies, "upgrade", "--without-slots").returncode == 0
    with service_of(copies) as engine:
        write_all(engine, subjects)
    whole = query(BUSINESS_ROWS, database=database)
    assert [message_id for _, message_id, _, _ in whole] == sorted(subjects)
    execute(copies, "delete from tracking where message_id = 'm-2'")
    execute(copies, "delete from outbox where payload->>'message_id' = 'm-2-again'")

    go_back(copies, "0013")
    assert migrate(copies, "upgrade", "--without-slots").returncode == 0

    first, again, forgotten, _retired = whole
    filled = [first, again, (SUBSCRIBER, forgotten[1], None, forgotten[3])]
    assert query(BUSINESS_ROWS, database=database) == filled
    execute(copies, "update alembic_version set version_num = '0013' where version_num = '0014'")
    done = migrate(copies, "upgrade", "--without-slots")
    assert (done.returncode, done.stderr) == (0, "")
    assert query(BUSINESS_ROWS, database=database) == filled


FORGOTTEN = """
    insert into forgotten (subscriber, topic, partition, offsets, messages, digest)
    values ('s', 'topic', 0, %s, 7, 7), ('s', 'topic', 1, '{}', 0, 0)
"""
RETIRED = """
    insert into retired_entry (topic, partition, offsets, entries, digest)
    values ('topic', 0, %s, 7, 7)
"""
OFFSETS = "{[5,7),[99999,100001),[150000,350000),[400000,400001)}"
BY_STRETCH = [
    (0, "{[5,7),[99999,100000)}"),
    (1, "{[100000,100001),[150000,200000)}"),
    (2, "{[200000,300000)}"),
    (3, "{[300000,350000)}"),
    (4, "{[400000,400001)}"),
]


@pytest.mark.parametrize(
    ("number", "kind", "revision", "insert", "divided", "whole"),
    [
        (0, DATABASE, "0021", FORGOTTEN, "forgotten_offsets", "forgotten"),
        (1, AUDIT_DATABASE, "0007", RETIRED, "retired_offsets", "retired_entry"),
    ],
    ids=["forgotten", "retired"],
)
def test_noted_offsets_are_divided_and_put_together(  # noqa: PLR0917 - a line of a table
    copies: Env, number: int, kind: str, revision: str, insert: str, divided: str, whole: str
) -> None:
    """What earlier versions have noted comes into stretches of a hundred thousand, and back."""
    database = names(copies)[number]
    assert migrate(copies, "upgrade", "--without-slots").returncode == 0
    go_back(copies, revision, kind)
    with connect(database, "postgres") as admin:
        admin.execute(insert.encode(), [OFFSETS])

    assert migrate(copies, "upgrade", "--without-slots").returncode == 0
    in_stretches = f"select stretch, offsets::text from {divided} order by stretch"
    assert query(in_stretches, database=database) == BY_STRETCH
    go_back(copies, revision, kind)
    together = f"select offsets::text from {whole} where partition = 0"
    assert query(together, database=database) == [(OFFSETS,)]


# What a later revision has added to the statement of a batch.
LATER = {
    "traceparent, tracestate, payload\n    )": "traceparent, payload\n    )",
    "        coalesce(tracestate, ''),\n": "",
}


def earlier_statement(fresh: str, rule: Rule) -> TextClause:
    """Return the statement of a batch as a service of that revision has it."""
    sql = str(statement(fresh, rule))
    for later, earlier in LATER.items():
        assert later in sql
        sql = sql.replace(later, earlier)
    return text(sql)


def test_no_writer_waits_while_it_is_filled(copies: Env, monkeypatch: pytest.MonkeyPatch) -> None:
    """The index is built beside the writers, even while somebody holds it up."""
    monkeypatch.setattr(write_module, "statement", earlier_statement)
    database = names(copies)[0]
    assert migrate(copies, "upgrade", "--without-slots").returncode == 0
    go_back(copies, "0013")
    with connect(database, "reconciler") as reader, service_of(copies) as engine:
        reader.execute("begin isolation level repeatable read")
        reader.execute("select from dead_letter")
        words = [sys.executable, "-m", "migrations", "upgrade", "--without-slots"]
        with subprocess.Popen(words, env=copies, stdout=subprocess.DEVNULL) as upgrade:
            until(
                lambda: query(BUILDS, database=database, role="postgres"),
                lambda found: found == [("Lock",)],
                30,
                "no index is being built",
            )
            write_all(engine, {"m-1": "s-1"})
            assert upgrade.poll() is None
            reader.execute("commit")
    assert upgrade.returncode == 0
    assert len(query(BUSINESS_ROWS, database=database)) == 1


DENIED = [
    ("app", "fulfillment", "update outbox set payload = '{}'"),
    ("app", "fulfillment", "delete from outbox"),
    ("app", "fulfillment", "truncate outbox"),
    ("app", "fulfillment", "update tracking set message_id = 'x'"),
    ("app", "fulfillment", "delete from tracking"),
    ("app", "fulfillment", "update fulfillment set message_id = 'x'"),
    ("app", "fulfillment", "delete from fulfillment"),
    ("app", "fulfillment", "delete from rejection"),
    ("app", "fulfillment", "update rejection set value_sha256 = null"),
    ("app", "fulfillment", "delete from dead_letter"),
    ("app", "fulfillment", "delete from refusal"),
    ("app", "fulfillment", "insert into refusal_allowed default values"),
    ("purger", "fulfillment", "insert into refusal default values"),
    ("purger", "fulfillment", "update refusal_allowed set allowed_until = now()"),
    ("app", "fulfillment", "create table mine ()"),
    ("app", "fulfillment", "set role owner"),
    ("app", "fulfillment", "alter publication outbox drop table outbox"),
    ("audit", "audit", "update outbox set payload = '{}'"),
    ("audit", "audit", "delete from outbox"),
    ("audit", "audit", "update audit_entry set outcome = 'rejected'"),
    ("audit", "audit", "delete from audit_entry"),
    ("cdc", "fulfillment", "select * from tracking"),
    ("cdc", "fulfillment", "select * from fulfillment"),
    ("cdc", "fulfillment", "select * from outbox"),
    ("cdc", "fulfillment", "insert into outbox default values"),
    ("cdc", "fulfillment", "create publication mine for table outbox"),
    ("cdc", "fulfillment", "create publication mine for all tables"),
    ("cdc", "fulfillment", "alter publication outbox set (publish = 'insert')"),
    ("cdc", "fulfillment", "drop publication outbox"),
    ("cdc", "audit", "select * from audit_entry"),
    ("reconciler", "fulfillment", "delete from tracking"),
    ("reconciler", "fulfillment", "insert into rejection default values"),
    ("purger", "fulfillment", "insert into tracking default values"),
    ("purger", "fulfillment", "update tracking set value_sha256 = sha256('')"),
    ("purger", "fulfillment", "select * from fulfillment"),
    ("purger", "fulfillment", "delete from fulfillment"),
    ("purger", "fulfillment", "delete from rejection"),
    ("purger", "fulfillment", "delete from outbox"),
    ("purger", "fulfillment", "delete from dead_letter"),
    ("purger", "fulfillment", "select payload from outbox"),
    ("purger", "fulfillment", "delete from retired"),
    ("purger", "audit", "delete from audit_entry"),
    ("purger", "audit", "delete from outbox"),
    ("purger", "audit", "delete from retired_entry"),
    ("purger", "audit", "delete from retired_offsets"),
    ("purger", "fulfillment", "delete from tracking"),
    ("purger", "fulfillment", "update forgotten set messages = 0"),
    ("purger", "fulfillment", "delete from forgotten_offsets"),
    ("purger", "fulfillment", "delete from dead_letter_act"),
    ("purger", "fulfillment", "update dead_letter_act set outcome = ''"),
    ("purger", "fulfillment", "update retired_letter set letters = 0"),
    ("app", "fulfillment", "select retire_letters('', now(), '{}', 1)"),
    ("resender", "fulfillment", "select retire_letters('', now(), '{}', 1)"),
    ("app", "fulfillment", "select forget_tracking('', now(), null, 1, '(0,0)')"),
    ("reconciler", "fulfillment", "select forget_tracking('', now(), null, 1, '(0,0)')"),
    ("audit", "audit", "select retire_entries('[]', 1)"),
    ("app", "fulfillment", "select drop_forgotten_offsets('', '{}')"),
    ("audit", "audit", "select drop_retired_offsets('{}')"),
    ("app", "fulfillment", "select retire('{}', 1, 1, '(0,0)')"),
    ("audit", "audit", "select retire('{}', 1, 1, '(0,0)')"),
    ("reconciler", "fulfillment", "select retire('{}', 1, 1, '(0,0)')"),
    ("reconciler", "audit", "insert into audit_entry default values"),
]


@pytest.mark.parametrize(("role", "database", "statement"), DENIED)
def test_a_role_may_not(spoiled: Stack, role: str, database: str, statement: str) -> None:
    """What a role does not need is denied by the database itself."""
    with connect(database, role) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(statement.encode())


@pytest.mark.parametrize(("role", "database"), [("app", "audit"), ("audit", "fulfillment")])
def test_a_role_may_not_enter_the_other_database(spoiled: Stack, role: str, database: str) -> None:
    """The service cannot even connect to the audit receiver's database, nor the receiver to its."""
    with pytest.raises(psycopg.OperationalError, match="permission denied"):
        connect(database, role)


def test_the_cdc_role_cannot_copy_the_server(spoiled: Stack) -> None:
    """Without a replication line in pg_hba, a REPLICATION role cannot copy the server."""
    url = make_url(spoiled.env()["DATABASE_URL"])
    with pytest.raises(psycopg.OperationalError, match="entry for replication"):
        psycopg.connect(f"host={url.host} port={url.port} user=cdc replication=true")


def test_a_wrong_password_is_refused(spoiled: Stack) -> None:
    """Passwords are checked: under `trust` a broken secret would go unnoticed."""
    url = make_url(spoiled.env()["DATABASE_URL"]).set(password="wrong")
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(url.render_as_string(hide_password=False))
