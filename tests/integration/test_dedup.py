"""What every dedup store in Postgres must do, on a real Postgres."""

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import Engine, make_url

from ops.stack.stack import Stack
from service.dedup import load_store
from service.handler import split_conflicts
from service.write import write
from tests.builders import record, value
from tests.client import TOPIC, connect, counts, fresh, query
from tests.own_service import make_topic, own_service
from tests.stores import DROPPING, OWN_TABLES, SQL, STORES, table_of
from tests.unit.compose_file import read_compose


@contextmanager
def without_table(name: str) -> Iterator[None]:
    """Rename a store's table for the duration of a block."""
    table = table_of(name)
    with connect(role="postgres") as admin:
        admin.execute(f"alter table {table} rename to {table}_away".encode())
        yield
        admin.execute(f"alter table {table}_away rename to {table}".encode())


@pytest.mark.parametrize("name", OWN_TABLES)
def test_a_store_without_its_tables_ends_the_service_in_one_sentence(
    spoiled: Stack, name: str
) -> None:
    """A missing table is reported at the start, with the way out and without a traceback."""
    group = fresh("group")
    with (
        without_table(name),
        own_service(spoiled, make_topic(), GROUP_ID=group, DEDUP_STORE=name) as service,
    ):
        sentence = service.sentence()
    assert sentence.startswith(f'database: relation "{table_of(name)}" does not exist: ')
    assert "run the migrations" in sentence


def migrate(env: Mapping[str, str], words: Sequence[str]) -> None:
    """Run the migrations, which must succeed."""
    command = [sys.executable, *words]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", OWN_TABLES)
def test_the_tables_of_a_store_are_made_once_and_belong_to_owner(spoiled: Stack, name: str) -> None:
    """A second upgrade keeps tables and rows; the service writes to them and owns nothing."""
    made = "select oid from pg_class where relname = %s and relowner = 'owner'::regrole"
    [before] = query(made, table_of(name), role="postgres")
    migrate(spoiled.env(), ["-m", "migrations", "upgrade"])
    assert query(made, table_of(name), role="postgres") == [before]


@pytest.fixture(scope="module")
def made_by_compose(spoiled_stack: Stack) -> Iterator[str]:
    """Create a database as compose.yaml does."""
    env = spoiled_stack.env()
    names = {}
    for setting in ("DATABASE_URL", "AUDIT_DATABASE_URL"):
        names[setting] = fresh("compose").replace("-", "_")
        env[setting] = env[setting].rpartition("/")[0] + "/" + names[setting]
    _, *words = read_compose()["services"]["migrations"]["command"]
    migrate(env, [*words, "--without-slots"])
    yield names["DATABASE_URL"]
    admin_url = make_url(env["ADMIN_DATABASE_URL"])
    password = Path(env["ADMIN_DATABASE_PASSWORD_FILE"]).read_text()
    with psycopg.connect(admin_url.render_as_string(), password=password, autocommit=True) as admin:
        for name in names.values():
            admin.execute(f"drop database {name} with (force)".encode())


@pytest.mark.parametrize("name", STORES)
def test_the_containers_make_the_same_tables(
    spoiled: Stack, made_by_compose: str, name: str
) -> None:
    """What compose.yaml runs before the service creates the tables of every present store."""
    columns = """
        select column_name, data_type, is_nullable, column_default
        from information_schema.columns where table_name = %s order by ordinal_position
    """
    ours = query(columns, table_of(name), role="postgres")
    assert ours
    assert query(columns, table_of(name), database=made_by_compose, role="postgres") == ours


def test_an_unknown_store_is_refused_with_the_known_ones(spoiled: Stack) -> None:
    """A misspelt DEDUP_STORE stops the service at the start, with the names that exist."""
    with own_service(spoiled, TOPIC, DEDUP_STORE="watermarks") as service:
        sentence = service.sentence()
    assert sentence.startswith("DEDUP_STORE=watermarks: there is no such store, only ")
    assert "tracking" in sentence


@pytest.mark.parametrize("name", SQL)
def test_each_subscriber_claims_the_same_message_once(
    engine: Engine, spoiled: Stack, name: str
) -> None:
    """Two subscribers, three deliveries to each: one effect, and an event for each of the two."""
    message_id, topic = fresh("m"), fresh("topic")
    message = record(message_id, value(fresh("o")), [("sequence", b"7")], topic)
    [batch] = split_conflicts([message])
    one, two = (
        load_store(name).make_store(partial(write, engine, fresh("subscriber"))) for _ in range(2)
    )
    firsts = [store.claim(batch)[message_id].first for store in (one, two, one, two, one, two)]
    assert firsts == [True, True, False, False, False, False]
    tables = counts([message_id])
    assert tables["fulfillment"][message_id] == 1
    assert tables["outbox"][message_id] == 2


@pytest.mark.parametrize("name", DROPPING)
def test_what_a_store_drops_leaves_a_row_in_the_same_transaction(
    engine: Engine, spoiled: Stack, name: str
) -> None:
    """A record with a lower number, delivered twice: one row says that it was dropped.

    Control: a message that is handled, and one that comes again, leave none.
    """
    order_id, topic, subscriber = fresh("o"), fresh("topic"), fresh("subscriber")
    store = load_store(name).make_store(partial(write, engine, subscriber))
    newer, older = fresh("newer"), fresh("older")
    first = record(newer, value(order_id), [("sequence", b"7")], topic)
    late = record(older, value(order_id), [("sequence", b"3")], topic)
    for message in (first, first, late, late):
        [batch] = split_conflicts([message])
        store.claim(batch)
    noted = "select message_id from dropped where subscriber = %s"
    assert query(noted, subscriber) == [(older,)]
    assert counts([older])["outbox"] == {}
