"""Retention on real Postgres: old rows are deleted in batches, beside writers."""

import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
from sqlalchemy import Engine

from ops.forget import batches, forget
from ops.stack.stack import Stack
from service.database import connect_to
from service.dedup import DedupStore, load_store
from service.handler import split_conflicts
from service.outage import OutageError
from service.write import write
from tests.builders import record, value
from tests.client import connect, counts, fresh, query
from tests.stores import OWN_TABLES, RETAINED, forget_of

FORTNIGHT = 14 * 86_400.0

REFUSED_ENTRY = """
    insert into audit_failure (subscriber, message_id, topic, partition, "offset", body, reason)
    values (%s, %s, 'topic', 0, 0, '{}', '422: refused')
"""
TRACKED = "select message_id from tracking where message_id = any(%s)"


class StoreUnderTest(NamedTuple):
    """A store with a subscriber of its own for one test."""

    name: str
    engine: Engine  # the service's own, which waits for no lock
    store: DedupStore
    subscriber: str
    env: dict[str, str]

    def handle(self, ids: list[str], number: int = 1) -> list[bool]:
        """Handle messages, each of its own order; return whether each was fresh."""
        headers: list[tuple[str, bytes | None]] = [("sequence", str(number).encode())]
        [wave] = split_conflicts([record(one, value(one), headers, self.subscriber) for one in ids])
        known = self.store.claim(wave)
        return [known[one].first for one in ids]

    def age(self, ids: list[str]) -> None:
        """Make these messages look as if they were handled twenty days ago."""
        table, key = self.table
        [clock] = re.findall(r"(\w+_at) < (?::|handled_)before", forget_of(self.name))
        old = f"""
            update {table} set {clock} = now() - interval '20 days'
            where subscriber = %s and {key} = any(%s)
        """
        with connect(role="postgres") as admin:
            admin.execute(old.encode(), [self.subscriber, ids])

    @property
    def table(self) -> tuple[str, str]:
        """Return the table in which the store keeps its rows, and the key."""
        found = re.findall(r"select ctid.*\s+from (?:public\.)?(\w+)", forget_of(self.name))[0]
        return found, "order_id" if self.name in OWN_TABLES else "message_id"

    def forget(self, batch: int = 7) -> int:
        """Forget what was handled a fortnight ago; return how many rows that was."""
        done = forget(self.env, self.name, FORTNIGHT, batch, lambda _: None)
        assert done["batches"] >= done["forgotten"] / batch
        return int(done["forgotten"])


@pytest.fixture(params=RETAINED)
def tested(request: pytest.FixtureRequest, spoiled: Stack) -> Iterator[StoreUnderTest]:
    """Return each store that keeps something for each message or order."""
    subscriber = fresh("subscriber")
    env = spoiled.env() | {"SUBSCRIBER": subscriber}
    engine = connect_to(
        env["DATABASE_URL"], Path(env["DATABASE_PASSWORD_FILE"]), 5, "-c lock_timeout=200"
    )
    store = load_store(request.param).make_store(partial(write, engine, subscriber))
    yield StoreUnderTest(request.param, engine, store, subscriber, env)
    engine.dispose()


def ids(count: int) -> list[str]:
    """Return this many message ids; each is also its order's id."""
    prefix = fresh("m")
    return [f"{prefix}-{n}" for n in range(count)]


def test_old_rows_are_deleted_and_young_ones_kept(tested: StoreUnderTest) -> None:
    """Of a hundred messages, the forty old ones are deleted seven at a time; the others stay."""
    old, young = ids(40), ids(60)
    assert tested.handle(old + young) == [True] * 100
    tested.age(old)
    assert tested.forget() == 40
    assert tested.forget() == 0
    assert tested.handle(young) == [False] * 60


def test_a_forgotten_message_is_not_handled_again(tested: StoreUnderTest) -> None:
    """A redelivery after the retention is a repeat all the same: the business's rows know it."""
    old = ids(3)
    tested.handle(old)
    tested.age(old)
    assert tested.handle(old) == [False] * 3
    tested.age(old)
    assert tested.forget() == 3
    assert tested.handle(old) == [False] * 3
    tables = counts(old)
    assert set(tables["fulfillment"].values()) == set(tables["outbox"].values()) == {1}


def test_a_locked_row_is_left_for_the_next_run(tested: StoreUnderTest) -> None:
    """A locked row is skipped without waiting, and deleted when it is free."""
    old = ids(20)
    tested.handle(old)
    tested.age(old)
    table, key = tested.table
    with connect(role="postgres") as holder, holder.transaction():
        holder.execute(f"select from {table} where {key} = %s for update".encode(), [old[11]])
        assert tested.forget() == 19
    assert tested.forget() == 1


def test_a_message_whose_audit_entry_is_to_be_sent_is_kept(spoiled: Stack, engine: Engine) -> None:
    """As long as the receiver has not taken its entry, `pipeline audit retry` needs its row."""
    subscriber = fresh("subscriber")
    env = spoiled.env() | {"SUBSCRIBER": subscriber}
    store = load_store("tracking").make_store(partial(write, engine, subscriber))
    tested = StoreUnderTest("tracking", engine, store, subscriber, env)
    taken, refused = ids(2)
    tested.handle([taken, refused])
    tested.age([taken, refused])
    with connect(role="postgres") as admin:
        admin.execute(REFUSED_ENTRY, [subscriber, refused])
        assert tested.forget() == 1
        assert query(TRACKED, [taken, refused]) == [(refused,)]
        admin.execute("delete from audit_failure where message_id = %s", [refused])
        assert tested.forget() == 1


def test_a_message_whose_audit_entry_was_refused_is_kept(spoiled: Stack, engine: Engine) -> None:
    """The receiver's answer is in its row alone: reconciliation finds it there for as long."""
    subscriber = fresh("subscriber")
    env = spoiled.env() | {"SUBSCRIBER": subscriber}
    store = load_store("tracking").make_store(partial(write, engine, subscriber))
    tested = StoreUnderTest("tracking", engine, store, subscriber, env)
    taken, refused = ids(2)
    tested.handle([taken, refused])
    tested.age([taken, refused])
    with connect(role="postgres") as admin:
        admin.execute(
            "update tracking set audit_error = '422: refused' where message_id = %s", [refused]
        )
    assert tested.forget() == 1
    assert query(TRACKED, [taken, refused]) == [(refused,)]


OFFSETS = """
    select stretch, offsets::text
    from forgotten_offsets
    where subscriber = %s
    order by stretch
"""
NOTED = "select messages from forgotten where subscriber = %s"


def forget_offsets(subscriber: str, *offsets: int) -> None:
    """Forget a message at each of these offsets of a partition."""
    with connect(role="postgres") as admin:
        for offset in offsets:
            admin.execute(
                """
                insert into tracking (
                    subscriber, message_id, topic, partition, "offset", value_sha256, handled_at
                )
                values (%s, %s, 'topic', 0, %s, sha256(''), now() - interval '20 days')
                """,
                [subscriber, fresh("m"), offset],
            )
    with connect(role="purger") as purger:
        purger.execute(
            "select forget_tracking(%s, now() - interval '14 days', null, 100, '(0,0)')",
            [subscriber],
        )


def test_what_is_forgotten_is_noted_in_short_stretches(spoiled: Stack) -> None:
    """Of a hundred thousand offsets each: a batch writes the ranges anew of those that it adds to.

    Rows that are made again by nobody go by whole stretches; how many there were stays.
    """
    subscriber = fresh("subscriber")
    forget_offsets(subscriber, 5, 6, 8, 99_999, 100_000, 100_001)
    first, second = "{[5,7),[8,9),[99999,100000)}", "{[100000,100002)}"
    assert query(OFFSETS, subscriber) == [(0, first), (1, second)]
    forget_offsets(subscriber, 100_002, 6)
    assert query(OFFSETS, subscriber) == [(0, first), (1, "{[100000,100003)}")]
    assert query(NOTED, subscriber) == [(7,)]  # offset 6 was noted already
    with connect(role="purger") as purger:
        for stop, left in ((99_999, [0, 1]), (100_000, [1]), (100_001, [1])):
            stops = json.dumps({"topic/0": stop, "topic/1": 1_000_000})
            purger.execute("select drop_forgotten_offsets(%s, %s)", [subscriber, stops])
            assert [stretch for stretch, _ in query(OFFSETS, subscriber)] == left
    assert query(NOTED, subscriber) == [(7,)]


def test_control_without_skip_locked_it_waits_for_the_row(
    tested: StoreUnderTest, request: pytest.FixtureRequest
) -> None:
    """Without `skip locked` the same statement waits, so the test above can see a wait."""
    old = ids(5)
    tested.handle(old)
    tested.age(old)
    table, key = tested.table
    url, file = (
        tested.env["DATABASE_URL"].replace("app@", "purger@"),
        Path(tested.env["SECRETS_DIR"], "purger_password"),
    )
    engine = connect_to(url, file, 5, "-c lock_timeout=200")
    [before] = query("select now() - interval '14 days'")[0]
    given = {"subscriber": tested.subscriber, "before": before, "limit": 9}
    waiting = load_store(tested.name).FORGET.replace("skip locked", "")
    if tested.name == "tracking":
        waiting = waiting.replace("forget_tracking", "forget_waiting")
        function = forget_of(tested.name).replace("skip locked", "")
        with connect(role="postgres") as admin:
            admin.execute(function.replace("forget_tracking", "forget_waiting").encode())
            request.addfinalizer(drop_waiting)
    with connect(role="postgres") as holder, holder.transaction():
        holder.execute(f"select from {table} where {key} = %s for update".encode(), [old[2]])
        with pytest.raises(OutageError, match="55P03"):
            list(batches(engine, waiting, given))
    engine.dispose()


def drop_waiting() -> None:
    """Drop the function that waits."""
    with connect(role="postgres") as admin:
        admin.execute("drop function forget_waiting")


def test_no_writer_waits(tested: StoreUnderTest) -> None:
    """While thousands of rows are deleted, no writer waits 200 ms for a lock."""
    old = ids(4000)
    for first in range(0, 4000, 1000):
        tested.handle(old[first : first + 1000])
    tested.age(old)
    forgotten: list[int] = []
    purging = threading.Thread(target=lambda: forgotten.append(tested.forget(batch=20)))
    purging.start()
    beside = 0
    while purging.is_alive():
        assert (
            tested.handle(ids(10)) == [True] * 10
        )  # an outage, which a lock is, would be raised here
        beside += purging.is_alive()
    purging.join()
    assert forgotten == [4000]
    assert beside > 5, "too few messages were handled meanwhile to say anything"


def run(env: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    """Run `pipeline forget`."""
    command = [sys.executable, "-m", "ops", "forget", *words]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)


def test_an_age_below_the_longest_redelivery_is_refused(tested: StoreUnderTest) -> None:
    """An age below retention plus longest replay is refused with both numbers."""
    old, env = ids(2), tested.env | {"ATTACH": "true", "DEDUP_STORE": tested.name}
    tested.handle(old)
    tested.age(old)
    refused = run(env, "--older-than", "13d")
    assert refused.returncode == 2
    assert "order.events keeps a record for 7 d, a replay may take 7 d more" in refused.stderr
    assert "give at least 14 d, or --risk-doubles" in refused.stderr
    assert tested.handle(old) == [False, False]
    tested.age(old)
    done = run(env, "--older-than", "13d", "--risk-doubles", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["store"], report["forgotten"], report["batches"]) == (tested.name, 2, 1)


def test_a_store_that_forgets_nothing_says_so(spoiled: Stack) -> None:
    """A store that is unknown, or retention's, and a database that is down: a sentence, exit 2."""
    env = spoiled.env() | {"ATTACH": "true"}
    away = env | {"DATABASE_URL": "postgresql://app@127.0.0.1:1/fulfillment"}
    unknown = run(env, "--older-than", "14d", "--store", "nothing")
    assert (unknown.returncode, "there is no such store, only" in unknown.stderr) == (2, True)
    retained = run(env, "--older-than", "14d")
    assert (retained.returncode, "pipeline retention deletes" in retained.stderr) == (2, True)
    gone = run(away, "--older-than", "14d", "--risk-doubles")
    assert (gone.returncode, "; 0 are forgotten" in gone.stderr) == (
        2,
        True,
    ), gone.stderr
