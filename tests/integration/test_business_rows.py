"""A message that comes again when its dedup store has forgotten it, on a real Postgres.

The business's own rows are never deleted: they tell a repeat, and another value under a known id.
"""

import random
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256

import pytest
from sqlalchemy import Engine

from contract.events import ACCEPTED, EVENTS, REJECTED
from contract.samples import CHANGED
from service.dedup import DedupStore, Handled, load_store
from service.handler import CONFLICT, Steps, handle
from service.ids import derive
from service.outage import Retry
from service.post import Answers, Entry
from service.record import Item, Record
from service.write import NOTHING, RULE, Rule, write
from tests.builders import record, settle_all, take_all, value
from tests.client import connect, fresh, query
from tests.integration.test_store import changed_rule
from tests.stores import SQL, table_of

WORKERS = 4
ROUNDS = 10
EVENT_IDS = "select event_id::text from outbox where payload->>'message_id' = any(%s)"
PAYLOADS = "select payload::text from outbox where payload->>'message_id' = %s"
LETTERS = 'select "offset", kind, reason from dead_letter where topic = %s order by "offset"'
TRACKED = """
    select "offset", encode(value_sha256, 'hex'), audited_at is not null
    from tracking
    where subscriber = %s and message_id = %s
"""


@dataclass
class Shop:
    """One subscriber with one dedup store, its records, and what it sends to the receiver."""

    engine: Engine
    name: str
    rule: Rule = RULE
    subscriber: str = field(default_factory=lambda: fresh("subscriber"))
    topic: str = field(default_factory=lambda: fresh("topic"))
    numbers: dict[str, int] = field(default_factory=dict)  # for a store that expects some
    known: dict[str, Handled] = field(default_factory=dict)  # by the batch that came last
    audited: list[str] = field(default_factory=list)  # since something was forgotten

    def record(self, message_id: str, content: bytes) -> Record:
        """Return a record of this shop's topic, at a new offset."""
        number = self.numbers.setdefault(message_id, len(self.numbers) + 1)
        return record(message_id, content, [("sequence", str(number).encode())], self.topic)

    def handle(self, *records: Record) -> None:
        """Take a batch through every step."""
        self.known = {}
        handle(records, Steps(self.claim, self.post, settle_all, lambda _: None))

    def claim(self, items: Sequence[Item]) -> dict[str, Handled]:
        """Write a batch, and keep what is known of it."""
        known = self.make_store().claim(items)
        self.known |= known
        return known

    def make_store(self) -> DedupStore:
        """Return the dedup store."""
        bound = partial(write, self.engine, self.subscriber, rule=self.rule)
        store: DedupStore = load_store(self.name).make_store(bound)
        return store

    def post(self, entries: Sequence[Entry]) -> Answers:
        """Take every entry, and note whose it was."""
        self.audited += [entry.message.message_id for entry in entries]
        return take_all(entries)

    def forget(self, *message_ids: str) -> None:
        """Delete all that the store knows, and from the outbox the events of these messages."""
        self.audited.clear()
        table = table_of(self.name)
        with connect(role="postgres") as admin:
            forget = f"delete from {table} where subscriber = %s"
            admin.execute(forget.encode(), [self.subscriber])
            retire = "delete from outbox where payload->>'message_id' = any(%s)"
            admin.execute(retire, [list(message_ids)])

    def letters(self) -> list[tuple[int, str, str]]:
        """Return the dead letters of this shop's topic."""
        return query(LETTERS, self.topic)


@pytest.fixture(params=SQL)
def shop(request: pytest.FixtureRequest, engine: Engine) -> Shop:
    """A subscriber with each dedup store in Postgres."""
    return Shop(engine, request.param)


@pytest.fixture
def tracking_shop(engine: Engine) -> Shop:
    """A subscriber with the default store."""
    return Shop(engine, "tracking")


def fulfill(shop: Shop) -> tuple[str, bytes]:
    """Handle a message that is accepted; return its id and its value."""
    message_id, content = fresh("m"), value(fresh("o"))
    shop.handle(shop.record(message_id, content))
    assert shop.known[message_id].outcome == ACCEPTED
    assert count_rows(message_id) == (1, 0)
    return message_id, content


def reject(shop: Shop) -> tuple[str, bytes]:
    """Handle a second message for what another has won; return its id and its value."""
    _, content = fulfill(shop)
    message_id = fresh("m")
    shop.handle(shop.record(message_id, content))
    assert shop.known[message_id].outcome == REJECTED
    assert count_rows(message_id) == (0, 1)
    return message_id, content


def count_rows(message_id: str) -> tuple[int, int]:
    """Return how many fulfillments and how many rejections a message has."""
    [(fulfillments,)] = query("select count(*) from fulfillment where message_id = %s", message_id)
    [(rejections,)] = query("select count(*) from rejection where message_id = %s", message_id)
    return fulfillments, rejections


Decide = Callable[[Shop], tuple[str, bytes]]
DECIDED = pytest.mark.parametrize("decide", [fulfill, reject], ids=["fulfilled", "rejected"])


@DECIDED
def test_the_same_value_is_a_repeat(shop: Shop, decide: Decide) -> None:
    """Nothing is published, written or audited again, and it is no dead letter."""
    message_id, content = decide(shop)
    before = count_rows(message_id)
    shop.forget(message_id)

    shop.handle(shop.record(message_id, content))

    found = shop.known[message_id]
    assert (found.first, found.audited) == (False, True)
    assert query(EVENT_IDS, [message_id]) == []
    assert count_rows(message_id) == before
    assert (shop.letters(), shop.audited) == ([], [])


@DECIDED
@pytest.mark.parametrize("is_other", [False, True], ids=["its order", "another order"])
def test_another_value_is_a_conflict(shop: Shop, decide: Decide, *, is_other: bool) -> None:
    """It is a dead letter, of whichever order it speaks; nothing else is written or published."""
    message_id, content = decide(shop)
    before = count_rows(message_id)
    shop.forget(message_id)
    changed = value(fresh("o")) if is_other else content.replace(b"}", b', "note": "other"}')
    conflict = shop.record(message_id, changed)

    shop.handle(conflict)

    assert shop.letters() == [(conflict.offset, "conflict", CONFLICT)]
    assert shop.known[message_id].value_sha256 == sha256(content).hexdigest()
    assert query(EVENT_IDS, [message_id]) == []
    assert count_rows(message_id) == before
    assert shop.audited == []

    shop.handle(shop.record(message_id, content))

    assert len(shop.letters()) == 1, "what came first is the conflict now"


def test_what_is_remembered_again_is_as_it_was(tracking_shop: Shop) -> None:
    """Tracking has a row of the repeat, marked as audited; of a conflict it has none."""
    shop = tracking_shop
    message_id, content = fulfill(shop)
    shop.forget(message_id)
    shop.handle(shop.record(message_id, value(fresh("o"))))
    assert query(TRACKED, shop.subscriber, message_id) == []

    repeat = shop.record(message_id, content)
    shop.handle(repeat)

    remembered = (repeat.offset, sha256(content).hexdigest(), True)
    assert query(TRACKED, shop.subscriber, message_id) == [remembered]


def test_what_was_not_audited_yet_is_audited(tracking_shop: Shop) -> None:
    """A worker that dies before the POST leaves its row unmarked: the redelivery is audited."""
    shop = tracking_shop
    message_id, content = fulfill(shop)
    shop.audited.clear()
    shop.handle(shop.record(message_id, content))
    assert shop.audited == [message_id]


@pytest.mark.parametrize("conflict_first", [False, True])
def test_repeat_and_conflict_in_one_batch_are_told_apart(
    shop: Shop, *, conflict_first: bool
) -> None:
    """Whichever comes first: one dead letter, for the other value, and one repeat."""
    message_id, content = fulfill(shop)
    shop.forget(message_id)
    repeat, conflict = (
        shop.record(message_id, content),
        shop.record(message_id, value(fresh("o"))),
    )

    shop.handle(*([conflict, repeat] if conflict_first else [repeat, conflict]))

    assert shop.letters() == [(conflict.offset, "conflict", CONFLICT)]
    assert query(EVENT_IDS, [message_id]) == []
    assert count_rows(message_id) == (1, 0)


def test_two_workers_at_once_publish_nothing_again(tracking_shop: Shop) -> None:
    """Workers with the same forgotten messages at one moment, some with another value."""
    shop, seed = tracking_shop, 20261124
    print(f"seed {seed}")  # noqa: T201
    ids = [fresh("m") for _ in range(60)]
    contents = {message_id: value(message_id) for message_id in ids}
    shop.handle(*(shop.record(message_id, content) for message_id, content in contents.items()))
    failures: list[BaseException] = []
    start = threading.Barrier(WORKERS, action=lambda: shop.forget(*ids))

    def work(worker: int) -> None:
        chance = random.Random(seed + worker)  # noqa: S311 - not cryptography
        own = Shop(shop.engine, shop.name, subscriber=shop.subscriber, topic=shop.topic)

        def handle_some(records: list[Record]) -> None:
            own.handle(*records)

        patient = Retry(lambda _: None, 0.01, 0.1).wrap("write", handle_some)
        try:
            for _ in range(ROUNDS):
                records = []
                for message_id in chance.sample(ids, 40):
                    changes = CHANGED if chance.random() < 0.2 else {}
                    records.append(own.record(message_id, value(message_id, **changes)))
                start.wait(30)
                patient(records)
                assert not any(found.first for found in own.known.values())
                assert own.audited == []
        except BaseException as error:  # noqa: BLE001 - told by the main thread
            failures.append(error)
            start.abort()

    threads = [threading.Thread(target=work, args=[n]) for n in range(WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert not failures, failures
    assert query(EVENT_IDS, ids) == []
    assert {count_rows(message_id) for message_id in ids} == {(1, 0)}
    assert {kind for _, kind, _ in shop.letters()} == {"conflict"}


def test_no_further_event_is_published_again(engine: Engine) -> None:
    """An event that follows another is as old as that one."""
    shop = Shop(engine, "tracking", changed_rule())
    message_id, content = fulfill(shop)
    further = [event for event in EVENTS if event.follows == ACCEPTED]
    assert len(query(EVENT_IDS, [message_id])) == len(further) + 2
    shop.forget(message_id)
    shop.handle(shop.record(message_id, content))
    assert query(EVENT_IDS, [message_id]) == []


def test_a_value_that_is_not_known_is_no_conflict(shop: Shop) -> None:
    """A row that is older than the column tells a repeat, and cannot tell another value."""
    message_id, _ = fulfill(shop)
    shop.forget(message_id)
    with connect(role="postgres") as admin:
        admin.execute(
            "update fulfillment set value_sha256 = null where message_id = %s", [message_id]
        )

    shop.handle(shop.record(message_id, value(fresh("o"))))

    assert not shop.known[message_id].first
    assert (shop.letters(), query(EVENT_IDS, [message_id])) == ([], [])


def test_a_conflict_that_comes_again_is_a_dead_letter_again(tracking_shop: Shop) -> None:
    """A dead letter leaves no row of the business: each record is judged under its own offset."""
    shop = tracking_shop
    message_id, _ = fulfill(shop)
    shop.forget(message_id)
    conflicts = [shop.record(message_id, value(message_id)) for _ in range(2)]
    for conflict in conflicts:
        shop.handle(conflict)
    assert [offset for offset, _, _ in shop.letters()] == [one.offset for one in conflicts]


@DECIDED
def test_control_without_the_rows_other_bytes_go_out_under_the_same_id(
    engine: Engine, decide: Decide
) -> None:
    """If the rule knew nothing of its rows, the event would be published again, and otherwise."""
    shop = Shop(engine, "tracking", RULE._replace(known=NOTHING))
    message_id, _ = decide(shop)
    event_id = derive("event", message_id, shop.subscriber)
    before = query(PAYLOADS, message_id)
    shop.forget(message_id)

    shop.handle(shop.record(message_id, value(fresh("o"))))

    assert shop.known[message_id].first
    assert (event_id,) in query(EVENT_IDS, [message_id])
    assert query(PAYLOADS, message_id) != before
    assert shop.audited == [message_id]


def test_rows_are_found_by_an_index_however_small_the_tables_are(engine: Engine) -> None:
    """A plan is kept for as long as nobody analyzes: no batch may read a table as a whole."""
    looks = """
        select sum(seq_scan), sum(idx_scan)
        from pg_stat_xact_user_tables
        where relname in ('fulfillment', 'rejection')
    """
    with connect(role="app") as session, session.transaction():
        for _ in range(10):
            session.execute("select * from handled_before('nobody', array['m-1', 'm-2'])")
        [(in_sequence, by_index)] = session.execute(looks).fetchall()
    assert (in_sequence, by_index > 0) == (0, True)
