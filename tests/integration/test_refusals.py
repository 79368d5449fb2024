"""Refusals on real Postgres: who is to blame, how many may be buried, and what a person allows."""

from collections.abc import Callable
from functools import partial

import pytest
from sqlalchemy import Engine
from sqlalchemy.exc import OperationalError

from contract.names import SUBSCRIBER
from ops.stack.stack import Stack
from service.__main__ import look_for_tables
from service.dedup import DedupStore, load_store
from service.handler import Steps, handle
from service.judge import Judge
from service.outage import RefusedError
from service.record import Item, Record
from service.refusals import NOTE, Cause, Limits, find_given_up, may_give_up
from service.write import RULE, try_out, write
from tests.builders import record, settle_all, take_all, value
from tests.client import TOPIC, connect, counts, fresh, query
from tests.own_service import own_service
from tests.refusing import FOR_ALL, FOR_ONE, Change, changed, execute

TEN = Limits(records=10, window_seconds=600)


@pytest.fixture
def cause(spoiled: Stack) -> Cause:
    """A cause of this test alone."""
    return Cause("database", "23514", fresh("check"))


def refuse(engine: Engine, cause: Cause, count: int) -> list[bool]:
    """Note this many new records as refused; return of each whether it may be given up."""
    return [may_give_up(engine, SUBSCRIBER, TEN, cause, record()) for _ in range(count)]


def age(cause: Cause, minutes: int) -> None:
    """Make the refusals of a cause look older."""
    older = "update refusal set refused_at = refused_at - make_interval(mins => %s) where name = %s"
    with connect(role="postgres") as admin:
        admin.execute(older, [minutes, cause.name])


def allow(cause: Cause, name: str | None, seconds: int) -> None:
    """Allow a cause for so long, or all causes of its code."""
    row = """
        insert into refusal_allowed (kind, code, name, allowed_by, allowed_until)
        values (%s, %s, %s, 'test', now() + make_interval(secs => %s))
    """
    with connect(role="purger") as purger:
        purger.execute(row, [cause.kind, cause.code, name, seconds])


def test_ten_records_of_one_cause_may_be_given_up(engine: Engine, cause: Cause) -> None:
    """The eleventh waits; another cause, or the same code of the audit receiver, has ten more."""
    assert refuse(engine, cause, 11) == [True] * 10 + [False]
    for other in (cause._replace(name=fresh("check")), cause._replace(kind="audit")):
        assert refuse(engine, other, 1) == [True]


def test_a_record_that_comes_again_counts_once(engine: Engine, cause: Cause) -> None:
    """Redelivered after a crash, it may still be given up, and takes nobody's place."""
    first = record()
    assert [may_give_up(engine, SUBSCRIBER, TEN, cause, first) for _ in range(20)] == [True] * 20
    assert refuse(engine, cause, 10) == [True] * 9 + [False]
    assert may_give_up(engine, SUBSCRIBER, TEN, cause, first)


def test_while_one_record_waits_all_of_its_cause_wait(engine: Engine, cause: Cause) -> None:
    """The window moves on, but whoever waits is noted again and again: no ten more are buried."""
    refuse(engine, cause, 10)
    waiting = record()
    for _ in range(3):
        assert not may_give_up(engine, SUBSCRIBER, TEN, cause, waiting)
        age(cause, 8)
    assert refuse(engine, cause, 1) == [False]


def test_after_the_window_ten_more_may_be_given_up(engine: Engine, cause: Cause) -> None:
    """Unless somebody waits, old refusals do not count; who waited then waits still."""
    waiting = record()
    refuse(engine, cause, 10)
    assert not may_give_up(engine, SUBSCRIBER, TEN, cause, waiting)
    age(cause, 11)
    assert refuse(engine, cause, 10) == [True] * 10
    assert not may_give_up(engine, SUBSCRIBER, TEN, cause, waiting)


@pytest.mark.parametrize("isolation", ["SERIALIZABLE", "READ COMMITTED"])
def test_two_workers_do_not_both_take_the_tenth_place(
    engine: Engine, cause: Cause, isolation: str
) -> None:
    """Of two transactions that see nine, one has to repeat; READ COMMITTED is the control."""
    refuse(engine, cause, 9)
    in_transaction = engine.execution_options(isolation_level=isolation)
    limits = {"limit": TEN.records, "window_seconds": TEN.window_seconds}
    with in_transaction.connect() as one, in_transaction.connect() as two:
        for worker in (one, two):
            parameters = {"subscriber": SUBSCRIBER} | cause._asdict() | record().place | limits
            assert worker.scalar(NOTE, parameters) is False
        one.commit()
        if isolation == "SERIALIZABLE":
            with pytest.raises(OperationalError, match="could not serialize"):
                two.commit()
        else:
            two.commit()
    given_up = "select count(*) from refusal where name = %s and not is_waiting"
    assert query(given_up, cause.name) == [(10 if isolation == "SERIALIZABLE" else 11,)]


@pytest.mark.parametrize("by_name", [True, False])
def test_a_person_may_allow_a_cause(engine: Engine, cause: Cause, by_name: bool) -> None:
    """Who waited and who comes later may then be given up, until the time is over."""
    if not by_name:
        cause = cause._replace(code=fresh("X")[:5])
    waiting, other = record(), cause._replace(name=fresh("check"))
    refuse(engine, cause, 10)
    refuse(engine, other, 10)
    assert not may_give_up(engine, SUBSCRIBER, TEN, cause, waiting)
    allow(cause, cause.name if by_name else None, seconds=-1)
    assert not may_give_up(engine, SUBSCRIBER, TEN, cause, waiting)
    allow(cause, cause.name if by_name else None, seconds=60)
    assert may_give_up(engine, SUBSCRIBER, TEN, cause, waiting)
    assert refuse(engine, cause, 3) == [True] * 3
    assert refuse(engine, other, 1) == [not by_name]


def test_what_was_given_up_is_found_when_it_comes_again(engine: Engine, cause: Cause) -> None:
    """From a record on, in its partition alone; a record that waits is not among them."""
    topic = fresh("topic")
    before, first, second, waiting = (record(topic=topic) for _ in range(4))
    elsewhere = [record(topic=topic, partition=1), record(topic=fresh("topic"))]
    for each in (before, first, second, *elsewhere):
        assert may_give_up(engine, SUBSCRIBER, TEN, cause, each)
    assert not may_give_up(engine, SUBSCRIBER, Limits(0, 600), cause, waiting)
    found = {first.offset: cause, second.offset: cause}
    assert find_given_up(engine, SUBSCRIBER, "database", first) == found
    assert not find_given_up(engine, SUBSCRIBER, "audit", first)


def test_each_subscriber_gives_up_for_itself(engine: Engine, cause: Cause) -> None:
    """What one cannot write, another may: it has ten of its own, and buries none for the first."""
    given_up = record(topic=fresh("topic"))
    assert may_give_up(engine, SUBSCRIBER, TEN, cause, given_up)
    assert refuse(engine, cause, 10)[-1] is False
    assert may_give_up(engine, "another", TEN, cause, record())
    assert find_given_up(engine, SUBSCRIBER, "database", given_up)
    assert not find_given_up(engine, "another", "database", given_up)


def test_without_the_tables_the_service_ends_in_one_sentence(spoiled: Stack) -> None:
    """Migrations that were not run are found at the start, not with the first refusal."""
    with (
        changed("alter table refusal rename to away", "alter table away rename to refusal"),
        own_service(spoiled, TOPIC, GROUP_ID=fresh("group")) as service,
    ):
        sentence = service.sentence()
    assert sentence.startswith('database: relation "refusal" does not exist: run the migrations')


def test_without_the_newest_revision_the_service_ends_in_one_sentence(
    engine: Engine, capsys: pytest.CaptureFixture[str]
) -> None:
    """A function that is not there is found at the start, too: no order waits for it."""
    newer = RULE._replace(known=RULE.known.replace("handled_before", "known_to_a_later_version"))
    store = load_store("tracking").make_store(partial(write, engine, SUBSCRIBER, rule=newer))
    with pytest.raises(SystemExit) as ended:
        look_for_tables(engine, store)
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("database: function known_to_a_later_version(")
    assert "does not exist: run the migrations" in said


class MendingConsumer:
    """A consumer that waits for no second; after some time in vain, somebody mends the database."""

    def __init__(self, mend: Callable[[], None]) -> None:
        self.waits_for = ""
        self.waited_for: list[str] = []
        self.mend = mend

    def idle(self, _seconds: float) -> None:
        """Mend what is waited for at the third time."""
        if self.waits_for:
            self.waited_for.append(self.waits_for)
        if len(self.waited_for) == 3:
            self.mend()


def wire(engine: Engine, consumer: MendingConsumer, name: str = "tracking") -> Steps:
    """Return the real steps of the database, with the rule of ten and the probe."""
    make_store = load_store(name).make_store
    store: DedupStore = make_store(partial(write, engine, "fulfillment"))
    trial: DedupStore = make_store(partial(try_out, engine, "fulfillment"))
    judge = Judge(
        trial.claim, partial(may_give_up, engine, SUBSCRIBER, TEN), consumer, probe_seconds=0.001
    )
    return Steps(
        store.claim,
        take_all,
        settle_all,
        lambda _: None,
        is_to_blame=judge.is_to_blame,
    )


def orders(prefix: str, count: int = 64) -> list[Record]:
    """Return so many good orders; two of three are of customer 13."""
    return [
        record(
            f"{prefix}-{n}",
            value(f"{prefix}-{n}", customer_id="c-13" if n % 3 else f"c-{n}"),
            topic=prefix,
        )
        for n in range(count)
    ]


def buried(topic: str) -> list[str]:
    """Return the reasons of the dead letters of a topic."""
    found = query('select reason from dead_letter where topic = %s order by "offset"', topic)
    return [reason for (reason,) in found]


@pytest.fixture
def forgotten(spoiled: Stack) -> None:
    """No refusal of another test counts."""
    execute("truncate refusal, refusal_allowed")


@pytest.mark.usefixtures("forgotten")
@pytest.mark.parametrize("what", FOR_ALL)
def test_what_refuses_good_messages_buries_none(engine: Engine, what: str) -> None:
    """The batch waits and says for what; once the database is mended, every message is written."""
    change, prefix = FOR_ALL[what], fresh("all")
    consumer = MendingConsumer(partial(execute, change.mend))
    steps = wire(engine, consumer)
    execute(change.change)
    handle([*orders(prefix), record("bad", b"no order", topic=prefix)], steps)
    assert len(consumer.waited_for) >= 3
    assert consumer.waited_for[0].startswith(f"refused by the database: {change.cause}")
    assert len(buried(prefix)) == 1
    assert not query("select 1 from refusal")
    written = counts([f"{prefix}-{n}" for n in range(64)])
    for table in ("tracking", "fulfillment", "outbox"):
        assert set(written[table].values()) == {1}
        assert len(written[table]) == 64


@pytest.mark.usefixtures("forgotten")
@pytest.mark.parametrize("is_repeated", [True, False], ids=["repeated", "control"])
def test_a_database_that_is_mended_before_the_probe_costs_no_message(
    engine: Engine, is_repeated: bool
) -> None:
    """The probe passes, and so would the message: without the repetition a good one is buried."""
    change, prefix = FOR_ALL["a CHECK"], fresh("mended")
    steps = wire(engine, MendingConsumer(lambda: None))
    mends = [change.mend]

    def is_to_blame(item: Item, refusal: RefusedError) -> bool:
        if mends:
            execute(mends.pop())
        return steps.is_to_blame(item, refusal) or not is_repeated

    execute(change.change)
    handle(orders(prefix), steps._replace(is_to_blame=is_to_blame))
    assert len(buried(prefix)) == (0 if is_repeated else 1)


@pytest.mark.usefixtures("forgotten")
@pytest.mark.parametrize("what", FOR_ONE)
def test_what_refuses_one_customer_buries_ten(engine: Engine, what: str) -> None:
    """Others pass, so ten are buried, one by one; then the batch waits, and the rest is written."""
    change, prefix = FOR_ONE[what], fresh("one")
    consumer = MendingConsumer(partial(execute, change.mend))
    execute(change.change)
    handle(orders(prefix), wire(engine, consumer))
    assert buried(prefix) == [f"refused by the database: {change.cause}"] * 10
    assert "has refused too many records" in consumer.waited_for[0]
    written = counts([f"{prefix}-{n}" for n in range(64)])
    assert len(written["fulfillment"]) == 54


@pytest.mark.usefixtures("forgotten")
@pytest.mark.parametrize("changes", [FOR_ALL, FOR_ONE], ids=["all", "one"])
def test_control_without_the_rule_every_refused_message_is_buried(
    engine: Engine, changes: dict[str, Change]
) -> None:
    """That is what happened before: good messages became dead letters, and nobody noticed."""
    prefix = fresh("control")
    change = changes["a CHECK"]
    steps = wire(engine, MendingConsumer(lambda: None))
    blaming = Steps(*steps[:4])
    with changed(change.change, change.mend):
        handle(orders(prefix), blaming)
    assert len(buried(prefix)) == (64 if changes is FOR_ALL else 42)
