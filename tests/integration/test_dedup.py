"""What every dedup store that lives in Postgres does on a real one, whichever is chosen."""

import re
import subprocess
import sys
from functools import partial

import pytest
from sqlalchemy import Engine

from ops.stack.stack import Stack
from service.dedup import load_store
from service.handler import split_conflicts
from service.write import write
from tests.builders import record, value
from tests.client import connect, counts, fresh, query
from tests.stores import OWN_TABLES, SQL, STORES, apply_tables
from tests.unit.drift import read_compose


def drop_tables(name: str) -> None:
    """Take a store's own tables and functions away."""
    found = re.findall(
        r"create (?:or replace )?(table|function) (?:if not exists )?(\w+)", load_store(name).TABLES
    )
    with connect(role="postgres") as admin:
        for kind, made in found:
            admin.execute(f"drop {kind} if exists {made}".encode())


@pytest.mark.parametrize("name", OWN_TABLES)
def test_a_store_without_its_tables_ends_the_service_in_one_sentence(
    spoiled: Stack, name: str
) -> None:
    """What the database lacks is said at the start, with the way out; no traceback, and no waiting for ever."""
    drop_tables(name)
    env = spoiled.env() | {"DEDUP_STORE": name, "SERVICE_PORT": "0", "GROUP_ID": fresh("group")}
    ended = subprocess.run(
        [sys.executable, "-m", "service"],
        env=env,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    [sentence] = ended.stderr.splitlines()
    assert ended.returncode == 1
    assert sentence.startswith("database: relation ")
    assert sentence.endswith(
        "run the migrations, and apply the tables of DEDUP_STORE (README: Choosing a dedup store)"
    )


@pytest.mark.parametrize("name", OWN_TABLES)
def test_the_tables_of_a_store_are_made_once_and_belong_to_owner(spoiled: Stack, name: str) -> None:
    """Applied twice they are the same, with their rows; the service writes to them and owns nothing."""
    drop_tables(name)
    apply_tables(spoiled, name)
    [table] = re.findall(r"create table if not exists (\w+)", load_store(name).TABLES)
    made = "select oid from pg_class where relname = %s and relowner = 'owner'::regrole"
    [before] = query(made, table, role="postgres")
    apply_tables(spoiled, name)
    assert query(made, table, role="postgres") == [before]


@pytest.mark.parametrize("name", STORES)
def test_the_containers_make_the_same_tables(spoiled: Stack, name: str) -> None:
    """What compose.yaml runs before the service makes the tables of the chosen store, and needs none for others."""
    tables = re.findall(
        r"create table if not exists (\w+)", getattr(load_store(name), "TABLES", "")
    )
    if tables:
        drop_tables(name)
    _, *words = read_compose()["services"]["dedup-tables"]["command"]
    env = spoiled.env() | {"DEDUP_STORE": name}
    done = subprocess.run(
        [sys.executable, *words], env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    made = query("select relname from pg_class where relname = any(%s)", tables, role="postgres")
    assert [table for (table,) in made] == tables


def test_a_store_that_is_not_there_is_told_with_those_that_are(spoiled: Stack) -> None:
    """A misspelt DEDUP_STORE ends the service at the start."""
    env = spoiled.env() | {"DEDUP_STORE": "watermarks", "SERVICE_PORT": "0"}
    ended = subprocess.run(
        [sys.executable, "-m", "service"],
        env=env,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stderr.startswith("DEDUP_STORE=watermarks: there is no such store, only ")
    assert "tracking" in ended.stderr


@pytest.mark.parametrize("name", SQL)
def test_each_subscriber_claims_the_same_message_once(
    engine: Engine, spoiled: Stack, name: str
) -> None:
    """Two subscribers, three deliveries to each: it is fresh once for each of them, and its effect is there once."""
    apply_tables(spoiled, name)
    message_id, topic = fresh("m"), fresh("topic")
    message = record(message_id, value(fresh("o")), [("sequence", b"7")], topic)
    [wave] = split_conflicts([message])
    one, two = (
        load_store(name).make_store(partial(write, engine, fresh("subscriber"))) for _ in range(2)
    )
    firsts = [store.claim(wave)[message_id].first for store in (one, two, one, two, one, two)]
    assert firsts == [True, True, False, False, False, False]
    tables = counts([message_id])
    assert tables["fulfillment"][message_id] == tables["outbox"][message_id] == 1
