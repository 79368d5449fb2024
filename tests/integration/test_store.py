"""The write of a batch against real Postgres: who is first, who waits, what another worker sees."""

import random
import re
import threading
from functools import partial
from hashlib import sha256
from uuid import uuid5

import pytest
from sqlalchemy import Engine, text

from contract.events import ACCEPTED, DEAD_LETTER, EVENTS, REJECTED, Event
from contract.names import NAMESPACE, SUBSCRIBER
from contract.samples import every_sample
from ops.stack.stack import Stack
from service.database import classify_errors
from service.dedup import Handled
from service.dedup.tracking import FRESH
from service.handler import Steps, handle, split_conflicts
from service.ids import derive
from service.outage import OutageError, RefusedError, Retry, TooSlowError
from service.record import Record, understand
from service.write import RULE, Rule, rows, statement, write
from tests.builders import record, settle_all, take_all, value
from tests.client import connect, counts, fresh, query, until

WORKERS = 4


@pytest.fixture
def subscriber() -> str:
    """A subscriber of this test alone."""
    return fresh("subscriber")


def orders(prefix: str, numbers: list[int]) -> list[Record]:
    """One record for each number: the same number is the same message, wherever it comes."""
    return [record(f"{prefix}-m{n}", value(f"{prefix}-o{n // 2}"), topic=prefix) for n in numbers]


def store(
    engine: Engine, subscriber: str, records: list[Record], rule: Rule = RULE
) -> dict[str, Handled]:
    """Write the records as one batch."""
    [part] = split_conflicts(records)
    return write(engine, subscriber, FRESH, part, rule=rule)


def test_overlapping_batches_of_four_workers_have_one_effect_each(
    engine: Engine, subscriber: str
) -> None:
    """Workers with overlapping batches at one moment: each message is handled once."""
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
    """The second worker waits for the first, and then knows its hash: a repeat or a conflict."""
    message_id = fresh("m")
    with connect(role="app") as other:
        other.execute("begin")
        other.execute(
            "insert into tracking"
            ' (subscriber, message_id, value_sha256, topic, partition, "offset")'
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
    """A rejection names the message that fulfilled the order, even if that was a moment ago."""
    order_id, first, second = fresh("o"), fresh("m"), fresh("m")
    items = rows([understand(record(first, value(order_id)))])
    in_transaction = engine.execution_options(isolation_level="READ COMMITTED")
    with in_transaction.connect() as other:
        other.execute(statement(FRESH), {"subscriber": SUBSCRIBER, "items": items})
        pid = other.execute(text("select pg_backend_pid()")).scalar_one()
        thread = threading.Thread(
            target=lambda: store(engine, SUBSCRIBER, [record(second, value(order_id))])
        )
        thread.start()
        wait_for_a_lock(pid)
        other.commit()
        thread.join(10)
    payload = "select payload->>'fulfilled_by' from outbox where payload->>'message_id' = %s"
    assert query(payload, second) == [(first,)]


def test_two_subscribers_have_an_event_each(engine: Engine) -> None:
    """What one subscriber has handled is new to the other, and its event is not swallowed."""
    message_id = fresh("m")
    message = record(message_id, value(fresh("o")))
    one, two = (store(engine, fresh("subscriber"), [message]) for _ in range(2))
    assert [known.first for known in [*one.values(), *two.values()]] == [True, True]
    tables = counts([message_id])
    assert tables["fulfillment"][message_id] == 1
    assert tables["outbox"][message_id] == 2


def test_two_subscribers_have_a_dead_letter_each(engine: Engine, subscriber: str) -> None:
    """What neither can take is a dead letter of both, and the event of neither is swallowed."""
    broken = record(fresh("m"), b"{", topic=fresh("topic"))
    position = "{topic}/{partition}/{offset}".format_map(broken.place)
    for who in (SUBSCRIBER, subscriber, SUBSCRIBER, subscriber):
        store(engine, who, [broken])
    letters = query("select subscriber from dead_letter where topic = %s", broken.topic)
    assert sorted(letters) == sorted([(SUBSCRIBER,), (subscriber,)])
    published = query(
        "select payload->>'subscriber', event_id::text from outbox where aggregate_id = %s",
        position,
    )
    assert sorted(published) == sorted(
        [
            (SUBSCRIBER, str(uuid5(NAMESPACE, f"dead-letter/{position}"))),
            (subscriber, derive("dead-letter", position, subscriber)),
        ]
    )


def test_the_ids_of_the_default_subscriber_do_not_contain_it(engine: Engine) -> None:
    """What version 0.1 has published keeps its event id, so that nothing is published again."""
    message_id = fresh("m")
    store(engine, SUBSCRIBER, [record(message_id, value(fresh("o")))])
    (event_id,), *_further = query(EVENT_IDS, message_id)
    assert str(event_id) == str(uuid5(NAMESPACE, f"event/{message_id}"))


def test_a_lost_tracking_table_does_not_double_the_events(engine: Engine, subscriber: str) -> None:
    """A message that comes again is known by its fulfillment: one of these, and one event."""
    message_id = fresh("m")
    message = record(message_id, value(fresh("o")))
    for is_first in (True, False):
        [known] = store(engine, subscriber, [message]).values()
        assert (known.outcome, known.first) == (ACCEPTED, is_first)
        with connect(role="postgres") as admin:
            admin.execute("delete from tracking where message_id = %s", [message_id])
    tables = counts([message_id])
    assert tables["fulfillment"][message_id] == tables["outbox"][message_id] == 1


def test_every_sample_of_the_contract_has_its_outcome(engine: Engine, subscriber: str) -> None:
    """Accepted, rejected, in conflict or invalid: the tables say what the samples say."""
    run = fresh("samples")
    samples = every_sample(run)
    records = [
        Record(run, 0, n, sample.order_id.encode(), sample.value, [*sample.headers()])
        for n, sample in enumerate(samples)
    ]
    steps = Steps(partial(write, engine, subscriber, FRESH), take_all, settle_all, lambda _: None)
    handle(records, steps)
    letters = dict(query('select "offset", reason from dead_letter where topic = %s', run))
    found = """
        select event_type, payload->>'reason' from outbox
        where payload->>'message_id' = %s and event_type = any(%s)
    """
    outcomes = RULE.outcomes()
    for n, sample in enumerate(samples):
        if sample.expected == DEAD_LETTER:
            assert letters[n].startswith(sample.reason), sample
        else:
            [(event_type, reason)] = query(found, sample.message_id, list(outcomes))
            assert (outcomes[event_type], reason or "") == (sample.expected, sample.reason), sample
    assert len(letters) == sum(sample.expected == DEAD_LETTER for sample in samples)


# The real rule with two changes: it never sees a message whose id begins with "uninvited", which is
# rejected without a winner; and each fulfilled order has an event more.
NOTED = Event("order-noted", "fulfillment.events", follows=ACCEPTED)
[FULFILLED] = [event.event_type for event in EVENTS if event.outcome == ACCEPTED]
[TURNED_DOWN] = [event.event_type for event in EVENTS if event.outcome == REJECTED]
UNINVITED = "item join fresh using (message_id) where message_id like 'uninvited%'"
CHANGED_RULE = """
invited as (
    select message_id from fresh where message_id not like 'uninvited%'
),

{real_rule},

decision as (
    select * from {accepted}

    union all

    select message_id, n, '{turned_down}', message_id, json_build_object(
        'message_id', message_id, 'reason', 'uninvited'
    )
    from {rejected}

    union all

    select message_id, n, 'order-noted', aggregate_id, json_build_object(
        'message_id', message_id, 'type', 'order-noted'
    )
    from real_decision
    where event_type = '{fulfilled}'
)
"""
EVENT_IDS = "select event_id from outbox where payload->>'message_id' = %s order by seq"
PUBLISHED = (
    "select event_type, event_id::text from outbox where payload->>'message_id' = %s order by seq"
)


def changed_rule(accepted: str = "real_decision", rejected: str = UNINVITED) -> Rule:
    """Return this rule, with other sources for some of its decisions."""
    real_rule = re.sub(r"\bdecision\b", "real_decision", re.sub(r"\bfresh\b", "invited", RULE.sql))
    sql = CHANGED_RULE.format(
        real_rule=real_rule,
        accepted=accepted,
        rejected=rejected,
        fulfilled=FULFILLED,
        turned_down=TURNED_DOWN,
    )
    return RULE._replace(sql=sql, events=(*EVENTS, NOTED))


def test_a_rejection_needs_no_winner(engine: Engine, subscriber: str) -> None:
    """A rule may reject for a reason of its own: an event, the outcome, and no row of an effect."""
    message_id = fresh("uninvited")
    rejected = record(message_id, value(fresh("o")))
    for is_first in (True, False):
        found = store(engine, subscriber, [rejected], changed_rule())
        assert (found[message_id].outcome, found[message_id].first) == (REJECTED, is_first)
    event_id = derive("event", message_id, subscriber)
    assert query(PUBLISHED, message_id) == [(TURNED_DOWN, event_id)]
    assert not counts([message_id])["fulfillment"]


def test_a_further_event_is_published_beside_the_deciding_one(
    engine: Engine, subscriber: str
) -> None:
    """Both are written once, the deciding one first, each under an id derived from its type."""
    message_id = fresh("m")
    good = record(message_id, value(fresh("o")))
    for _ in range(2):
        found = store(engine, subscriber, [good], changed_rule())
        assert found[message_id].outcome == ACCEPTED
    deciding = (FULFILLED, derive("event", message_id, subscriber))
    further = [
        (event.event_type, derive(event.event_type, message_id, subscriber))
        for event in (*EVENTS, NOTED)
        if event.follows == ACCEPTED
    ]
    first, *others = query(PUBLISHED, message_id)
    assert first == deciding
    assert sorted(others) == sorted(further)


@pytest.mark.parametrize(
    "rule",
    [
        changed_rule(accepted="real_decision where false"),
        changed_rule(rejected="real_decision"),
    ],
    ids=["undecided", "decided twice"],
)
def test_a_rule_that_does_not_decide_once_ends_the_process(
    engine: Engine, subscriber: str, rule: Rule, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is a defect of the rule: nothing is written, dropped or buried, and the exit code is 2."""
    message_id = fresh("m")
    good = record(message_id, value(fresh("o")))
    with pytest.raises(SystemExit) as ended:
        store(engine, subscriber, [good], rule)
    assert ended.value.code == 2
    assert "has not exactly one deciding event" in capsys.readouterr().err
    assert not any(counts([message_id]).values())


def test_an_event_without_a_topic_ends_the_process(
    engine: Engine, subscriber: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The outbox knows the aggregate types; one that it does not know is no fault of a message."""
    message_id = fresh("m")
    events = (*EVENTS, NOTED._replace(topic="nowhere.events"))
    good = record(message_id, value(fresh("o")))
    with pytest.raises(SystemExit) as ended:
        store(engine, subscriber, [good], changed_rule()._replace(events=events))
    assert ended.value.code == 2
    assert "outbox_aggregate_type_check" in capsys.readouterr().err
    assert not any(counts([message_id]).values())


def test_an_event_type_that_is_made_at_run_time_is_known_or_ends_the_process(
    engine: Engine, subscriber: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A type that no literal shows, and that the contract does not know, is never dropped."""
    message_id = fresh("m")
    rule = changed_rule()
    sql = rule.sql.replace("n, 'order-noted'", "n, concat('order', '-', 'lost')")
    good = record(message_id, value(fresh("o")))
    with pytest.raises(SystemExit) as ended:
        store(engine, subscriber, [good], rule._replace(sql=sql))
    assert ended.value.code == 2
    assert "service/rule.sql" in capsys.readouterr().err
    assert not any(counts([message_id]).values())


def test_a_message_that_a_constraint_refuses_is_buried_alone(
    engine: Engine, spoiled: Stack
) -> None:
    """A CHECK that one of 64 good orders violates buries that one; the other 63 are fulfilled."""
    prefix = fresh("check")
    with connect(role="postgres") as admin:
        admin.execute(
            "alter table fulfillment"
            " add constraint no_13 check (customer_id <> 'thirteen') not valid"
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
                take_all,
                settle_all,
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
    """A shutdown, no connections left, a deadlock, a lock: the batch waits, nothing is buried."""
    with pytest.raises(OutageError):
        raise_in_postgres(engine, sqlstate)


@pytest.mark.parametrize(
    "sqlstate", ["22P05", "23514", "54000", "42501", "42704", "42P01", "0A000", "P0001", "XX000"]
)
def test_whatever_is_no_outage_is_a_refusal(engine: Engine, sqlstate: str) -> None:
    """Any SQLSTATE may come of a message or of a change: it crashes nothing, and names itself."""
    with pytest.raises(RefusedError) as refused:
        raise_in_postgres(engine, sqlstate)
    assert refused.value.code == sqlstate


def test_a_statement_that_takes_too_long_is_an_outage_of_its_own(engine: Engine) -> None:
    """With less to do it may pass: the batch is repeated in pieces."""
    with pytest.raises(TooSlowError):
        raise_in_postgres(engine, "57014")


def raise_in_postgres(engine: Engine, sqlstate: str) -> None:
    """An error of this SQLSTATE, from the server itself."""
    with classify_errors(), engine.connect() as connection:
        connection.execute(
            text(f"do $$ begin raise exception 'x' using errcode = '{sqlstate}'; end $$")
        )
