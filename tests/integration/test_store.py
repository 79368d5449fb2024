"""The write of a batch against real Postgres: who is first, who waits, and what another worker sees."""

import random
import threading
from functools import partial
from hashlib import sha256

import pytest
from sqlalchemy import Engine, text

from ops.stack.stack import Stack
from service.database import classify_errors
from service.dedup import Handled
from service.dedup.tracking import FRESH
from service.handler import Steps, handle, split_conflicts
from service.outage import OutageError, RefusedError, Retry
from service.record import Record
from service.write import write
from tests.builders import record, value
from tests.client import connect, counts, fresh, query, until

WORKERS = 4


@pytest.fixture
def subscriber() -> str:
    """A subscriber of this test alone."""
    return fresh("subscriber")


def orders(prefix: str, numbers: list[int]) -> list[Record]:
    """One record for each number: the same number is the same message, wherever it comes."""
    return [record(f"{prefix}-m{n}", value(f"{prefix}-o{n // 2}"), topic=prefix) for n in numbers]


def store(engine: Engine, subscriber: str, records: list[Record]) -> dict[str, Handled]:
    """Write the records as one batch."""
    [wave] = split_conflicts(records)
    return write(engine, subscriber, FRESH, wave)


def test_overlapping_batches_of_four_workers_have_one_effect_each(
    engine: Engine, subscriber: str
) -> None:
    """Workers given overlapping batches at the same moment: every message handled once, deadlocks retried."""
    prefix, rounds, seed = fresh("overlap"), 15, 20261121
    print(f"seed {seed}")  # noqa: T201
    firsts: list[str] = []
    failures: list[BaseException] = []
    start = threading.Barrier(WORKERS)
    patient = Retry(lambda _: None, 0.01, 0.1).wrap("write", partial(store, engine, subscriber))

    def work(worker: int) -> None:
        chance = random.Random(seed + worker)  # noqa: S311 - not cryptography
        try:
            for _ in range(rounds):
                numbers = chance.sample(range(400), 200)
                start.wait(30)
                known = patient(orders(prefix, numbers))
                assert len(known) == 200
                firsts.extend(key for key, handled in known.items() if handled.first)
        except BaseException as error:  # noqa: BLE001 - told by the main thread
            failures.append(error)
            start.abort()

    threads = [threading.Thread(target=work, args=[n]) for n in range(WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failures, failures
    assert len(firsts) == len(set(firsts)), (
        f"{len(firsts) - len(set(firsts))} messages were first twice"
    )
    tables = counts(firsts)
    assert set(tables["tracking"].values()) == set(tables["outbox"].values()) == {1}
    assert len(tables["fulfillment"]) == len({int(key.rpartition("m")[2]) // 2 for key in firsts})


def test_a_batch_that_waited_sees_what_the_other_worker_committed(
    engine: Engine, subscriber: str
) -> None:
    """The second worker waits for the first, and then knows its hash: a repeat is told from a conflict."""
    message_id = fresh("m")
    with connect(role="app") as other:
        other.execute("begin")
        other.execute(
            'insert into tracking (subscriber, message_id, value_sha256, topic, partition, "offset")'
            " values (%s, %s, sha256('other'), 't', 0, 0)",
            [subscriber, message_id],
        )
        answers: list[dict[str, Handled]] = []
        thread = threading.Thread(
            target=lambda: answers.append(store(engine, subscriber, [record(message_id)]))
        )
        thread.start()
        wait_for_a_lock(other.info.backend_pid)
        assert not answers
        other.execute("commit")
        thread.join(10)
    [known] = answers
    assert not known[message_id].first
    assert known[message_id].value_sha256 != sha256(value()).hexdigest()


def wait_for_a_lock(holder: int) -> None:
    """Until somebody waits for this session."""
    waiting = "select count(*) from pg_stat_activity where %s = any(pg_blocking_pids(pid))"
    until(
        lambda: query(waiting, holder, role="postgres")[0][0],
        lambda n: n > 0,
        10,
        "nobody waits for the lock",
    )


def test_an_order_that_another_worker_just_fulfilled_is_rejected_by_name(engine: Engine) -> None:
    """A rejection names the message that fulfilled the order, also when that was committed a moment ago."""
    order_id, first, second = fresh("o"), fresh("m"), fresh("m")
    with connect(role="app") as other:
        other.execute("begin")
        other.execute(
            "insert into fulfillment"
            " (order_id, fulfillment_id, message_id, customer_id, placed_at, lines, total)"
            " values (%s, gen_random_uuid(), %s, 'c', now(), '[]', 0)",
            [order_id, first],
        )
        thread = threading.Thread(
            target=lambda: store(engine, "fulfillment", [record(second, value(order_id))])
        )
        thread.start()
        wait_for_a_lock(other.info.backend_pid)
        other.execute("commit")
        thread.join(10)
    payload = "select payload->>'fulfilled_by' from outbox where payload->>'message_id' = %s"
    assert query(payload, second) == [(first,)]


def test_two_subscribers_handle_the_same_message(engine: Engine) -> None:
    """Tracking is kept for each subscriber: what one has handled is new to the other."""
    message = record(fresh("m"), value(fresh("o")))
    one, two = (store(engine, fresh("subscriber"), [message]) for _ in range(2))
    assert [known.first for known in [*one.values(), *two.values()]] == [True, True]


def test_a_lost_tracking_table_does_not_double_the_events(engine: Engine) -> None:
    """Handled again by another subscriber, the derived ids find their rows: one fulfillment, one event."""
    message_id = fresh("m")
    message = record(message_id, value(fresh("o")))
    for _ in range(2):
        [known] = store(engine, fresh("subscriber"), [message]).values()
        assert known.outcome == ACCEPTED
    tables = counts([message_id])
    assert tables["fulfillment"][message_id] == tables["outbox"][message_id] == 1


def test_a_message_that_a_constraint_refuses_is_buried_alone(
    engine: Engine, spoiled: Stack
) -> None:
    """A CHECK that one of 64 good orders violates costs that one: a dead letter, and 63 fulfillments."""
    prefix = fresh("check")
    with connect(role="postgres") as admin:
        admin.execute(
            "alter table fulfillment add constraint no_13 check (customer_id <> 'thirteen') not valid"
        )
        try:
            records = [
                record(
                    f"{prefix}-{n}",
                    value(f"{prefix}-{n}", customer_id="thirteen" if n == 13 else "c"),
                    topic=prefix,
                )
                for n in range(64)
            ]
            nothing = Steps(
                partial(write, engine, "fulfillment", FRESH),
                lambda _: {},
                lambda _: None,
                lambda _: None,
            )
            handle(records, nothing)
        finally:
            admin.execute("alter table fulfillment drop constraint no_13")
    letters = query('select "offset", kind, reason from dead_letter where topic = %s', prefix)
    assert letters == [(records[13].offset, "invalid", "refused by the database: 23514 no_13")]
    assert sum(counts([f"{prefix}-{n}" for n in range(64)])["fulfillment"].values()) == 63


@pytest.mark.parametrize("sqlstate", ["57P01", "53300", "40001", "55P03", "08006"])
def test_an_outage_is_never_a_refusal(engine: Engine, sqlstate: str) -> None:
    """A shutdown, no connections left, a deadlock, a lock: the whole batch waits, nothing is buried."""
    with pytest.raises(OutageError):
        raise_in_postgres(engine, sqlstate)


@pytest.mark.parametrize("sqlstate", ["22P05", "23514", "54000"])
def test_a_refusal_is_never_waited_out(engine: Engine, sqlstate: str) -> None:
    """Data that the database will never take is searched for at once."""
    with pytest.raises(RefusedError):
        raise_in_postgres(engine, sqlstate)


def raise_in_postgres(engine: Engine, sqlstate: str) -> None:
    """An error of this SQLSTATE, from the server itself."""
    with classify_errors(), engine.connect() as connection:
        connection.execute(
            text(f"do $$ begin raise exception 'x' using errcode = '{sqlstate}'; end $$")
        )
