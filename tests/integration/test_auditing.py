"""What the audit receiver does not take: the real steps, Postgres and receiver; only no broker."""

import json
import math
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from runpy import run_path
from typing import Any, NamedTuple

import pytest
from pydantic_core import to_json
from sqlalchemy import Engine

from ops.audit import Choice, Done, count_refused, retry
from ops.fault_proxy import Request, StubServer, forward
from ops.settings import ROOT
from ops.stack.stack import Stack
from ops.stack.supervisor import StackError
from service import post
from service.auditing import make_audit_steps
from service.dedup.tracking import FRESH
from service.handler import Steps, handle
from service.ids import derive
from service.mark import Patience, claim_due
from service.outage import AbandonedError, Retry
from service.record import Headers, Record
from service.settings import Settings
from service.write import write
from tests.builders import record, value
from tests.client import connect, exactly_one, fresh, query, until
from tests.refusing import execute

DETAIL = "total: should be smaller"


class Front:
    """Stands before the real receiver, and refuses what it is told to refuse."""

    def __init__(self, url: str) -> None:
        self.post = forward(url)
        self.status_of_all = 0
        self.status_of: dict[str, int] = {}  # by message id
        self.requests = 0
        self.sent: dict[str, set[bytes]] = defaultdict(set)  # the bodies under each key
        self.traces: dict[str, list[Any]] = defaultdict(list)  # by message id, as they were sent

    def handle(self, request: Request, body: bytes) -> None:
        """Answer a batch."""
        self.requests += 1
        items = json.loads(body)["items"]
        for item in items:
            verbatim = to_json(item["body"])
            assert verbatim in body
            self.sent[item["idempotency_key"]].add(verbatim)
            trace = (item.get("traceparent"), item.get("tracestate"))
            self.traces[item["body"]["message_id"]].append(trace)
        if self.status_of_all:
            request.answer(self.status_of_all, to_json({"detail": DETAIL}))
            return
        answers = self.take([item for item in items if not self.refuses(item)])
        for item in items:
            if self.refuses(item):
                status = self.status_of[item["body"]["message_id"]]
                key = item["idempotency_key"]
                refused = {"status": status, "body": {"detail": DETAIL}}
                answers.append({"idempotency_key": key, **refused})
        request.answer(200, to_json({"items": answers}))

    def refuses(self, item: dict[str, Any]) -> bool:
        """Return whether it refuses this item."""
        return item["body"]["message_id"] in self.status_of

    def take(self, items: Sequence[dict[str, Any]]) -> list[Any]:
        """Return the real receiver's answers."""
        if not items:
            return []
        _, content = self.post("/audit-entries/batch", to_json({"items": items}))
        return list(json.loads(content)["items"])


class Group:
    """A consumer that never loses its partitions; while it waits, a test may change the world."""

    def __init__(self, on_wait: Callable[[int], None] = lambda _waits: None) -> None:
        self.last_poll = math.inf
        self.waits_for = ""
        self.reasons: list[str] = []
        self.on_wait = on_wait

    def idle(self, _seconds: float) -> None:
        """Note what is waited for."""
        self.reasons.append(self.waits_for)
        self.on_wait(len(self.reasons))


class Worker(NamedTuple):
    """A service without a broker: it handles what it is given."""

    engine: Engine
    settings: Settings
    group: Group

    def steps(self) -> Steps:
        """Return its steps, as after a start."""
        retry = Retry(self.group.idle, first_seconds=0.01, cap_seconds=0.01)
        audit = make_audit_steps(self.settings, self.engine, self.group, retry)
        return Steps(
            write=partial(write, self.engine, self.settings.subscriber, FRESH),
            commit=lambda _records: None,
            wait=retry.wait,
            **audit._asdict(),
        )

    def marks(self) -> dict[str, int]:
        """Count its messages by what is known of their audit."""
        rows = query(
            """
            select
                count(audited_at),
                count(audit_error),
                count(*) filter (where audited_at is null and audit_error is null)
            from tracking
            where subscriber = %s
            """,
            self.settings.subscriber,
        )
        return dict(zip(("audited", "refused", "open"), rows[0], strict=True))


MakeWorker = Callable[..., Worker]


@pytest.fixture
def front(spoiled: Stack) -> Front:
    """The way to the real receiver."""
    execute("truncate refusal, refusal_allowed")
    return Front(spoiled.env()["AUDIT_URL"])


@pytest.fixture
def make_worker(engine: Engine, front: Front) -> Iterator[MakeWorker]:
    """Make workers of one subscriber that post to the front."""
    subscriber = fresh("subscriber")
    with StubServer(front.handle) as server:

        def make(on_wait: Callable[[int], None] = lambda _waits: None, **changed: Any) -> Worker:
            given: dict[str, Any] = {
                "subscriber": subscriber,
                "audit_url": server.url,
                "audit_repeat_seconds": 0.001,
            }
            return Worker(engine, Settings(**given | changed), Group(on_wait))

        yield make


def orders(count: int) -> tuple[list[str], list[Record]]:
    """Return this many new orders, and their message ids."""
    prefix = fresh("m")
    ids = [f"{prefix}-{n:03}" for n in range(count)]
    return ids, [record(message_id, value(message_id)) for message_id in ids]


def give_up(waits: int) -> None:
    """End a wait that would have no end."""
    if waits > 20:
        raise AbandonedError("waited twenty times")


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_receiver_that_refuses_everything_costs_ten_entries(
    front: Front, make_worker: MakeWorker, status: int
) -> None:
    """Ten are marked as refused, the others wait until it is mended, and the reason is shown."""

    def mend(waits: int) -> None:
        front.status_of_all = 0 if waits == 5 else front.status_of_all

    worker = make_worker(mend)
    front.status_of_all = status
    ids, records = orders(200)
    handle(records, worker.steps())
    assert worker.marks() == {"audited": 190, "refused": 10, "open": 0}
    assert worker.group.reasons[0] == (
        f"the audit receiver has answered {status}:total to too many entries: remove the cause, or"
        f" run pipeline dead-letters allow {status}:total"
    )
    assert worker.group.waits_for == ""
    assert front.requests < 5 * 40
    reasons = query("select distinct reason from audit_failure where message_id = any(%s)", ids)
    assert reasons == [(f"{status} {DETAIL}",)]


def test_an_item_of_each_batch_that_is_refused_counts_too(
    front: Front, make_worker: MakeWorker
) -> None:
    """Ten batches with one refused item each pass; the eleventh item waits, and nothing else."""
    worker = make_worker(give_up)
    steps = worker.steps()
    for batch in range(11):
        ids, records = orders(20)
        front.status_of[ids[7]] = 422
        if batch < 10:
            handle(records, steps)
    with pytest.raises(AbandonedError):
        handle(records, steps)
    assert worker.marks() == {"audited": 11 * 19, "refused": 10, "open": 1}


def test_control_without_the_rule_of_ten_all_are_refused(
    front: Front, make_worker: MakeWorker
) -> None:
    """With a limit that is never reached, every entry is marked as refused for good."""
    worker = make_worker(give_up, refusal_limit=1000)
    front.status_of_all = 400
    handle(orders(50)[1], worker.steps())
    assert worker.marks() == {"audited": 0, "refused": 50, "open": 0}


def test_what_a_person_allows_is_refused(front: Front, make_worker: MakeWorker) -> None:
    """After `pipeline dead-letters allow` the cause may refuse more than ten."""

    def allow(waits: int) -> None:
        if waits == 2:
            execute(
                "insert into refusal_allowed (kind, code, allowed_by, allowed_until)"
                " values ('audit', '400', 'a test', now() + interval '1 minute')"
            )

    worker = make_worker(allow)
    front.status_of_all = 400
    handle(orders(60)[1], worker.steps())
    assert worker.marks() == {"audited": 0, "refused": 60, "open": 0}


@pytest.mark.parametrize("status", [404, 409, 425])
def test_an_item_that_fails_alone_is_repeated_and_holds_nobody_up(
    front: Front, make_worker: MakeWorker, status: int
) -> None:
    """The others are marked and the offsets committed; it is sent again, also after a restart."""
    worker = make_worker(give_up)
    ids, records = orders(50)
    front.status_of[ids[20]] = status
    handle(records, worker.steps())
    assert worker.marks() == {"audited": 49, "refused": 0, "open": 1}
    key = derive("audit", ids[20], worker.settings.subscriber)

    requests = front.requests
    repeat = worker.steps().repeat
    until(lambda: (repeat(), front.requests)[1], lambda now: now > requests + 3, 10, "no repeat")
    assert worker.marks() == {"audited": 49, "refused": 0, "open": 1}

    del front.status_of[ids[20]]
    restarted = worker.steps().repeat
    until(
        lambda: (restarted(), worker.marks())[1],
        lambda marks: marks["audited"] == 50,
        10,
        "it was not repeated",
    )
    assert len(front.sent[key]) == 1, "the bytes were not the same each time"
    assert query("select 1 from audit_failure where message_id = any(%s)", ids) == []
    exactly_one(ids)


def test_an_item_that_fails_alone_for_too_long_is_refused(
    front: Front, make_worker: MakeWorker
) -> None:
    """After AUDIT_PATIENCE_SECONDS it becomes an audit_error, and is repeated no more."""
    worker = make_worker(audit_patience_seconds=3600)
    ids, records = orders(5)
    front.status_of[ids[2]] = 409
    handle(records, worker.steps())
    out_of_patience = make_worker(audit_patience_seconds=0)
    repeat = out_of_patience.steps().repeat
    until(
        lambda: (repeat(), worker.marks())[1],
        lambda marks: marks["refused"] == 1,
        10,
        "it was not refused",
    )
    errors = query("select audit_error from tracking where message_id = %s", ids[2])
    assert errors == [(f"409 {DETAIL}",)]
    requests = front.requests
    for _ in range(5):
        repeat()
    assert front.requests == requests


def test_control_if_it_were_an_outage_it_would_hold_up_everybody(
    front: Front, make_worker: MakeWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where 409 of an item counts like 503, one item keeps a whole batch from being marked."""
    monkeypatch.setattr(post, "NOT_YET", set())
    worker = make_worker(give_up)
    ids, records = orders(50)
    front.status_of[ids[20]] = 409
    with pytest.raises(AbandonedError):
        handle(records, worker.steps())
    assert worker.marks() == {"audited": 0, "refused": 0, "open": 50}


TRACE = ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "vendor=1")


def test_an_entry_is_sent_again_with_its_trace(front: Front, make_worker: MakeWorker) -> None:
    """As it was sent first; one that had none, such as of an older version, has none again."""
    worker = make_worker(give_up)
    headers: Headers = [("traceparent", TRACE[0].encode()), ("tracestate", TRACE[1].encode())]
    traced, plain = fresh("m"), fresh("m")
    records = [record(traced, value(traced), headers), record(plain, value(plain))]
    front.status_of = dict.fromkeys([traced, plain], 409)
    handle(records, worker.steps())
    front.status_of.clear()
    repeat = worker.steps().repeat
    until(
        lambda: (repeat(), worker.marks())[1],
        lambda marks: marks["open"] == 0,
        10,
        "they were not repeated",
    )
    assert front.traces == {traced: [TRACE, TRACE], plain: [(None, None)] * 2}
    exactly_one([traced, plain])


def test_a_receiver_that_knows_no_traces_is_sent_none(
    front: Front, make_worker: MakeWorker
) -> None:
    """AUDIT_TRACE=false; the event of the message has its trace all the same."""
    worker = make_worker(give_up, audit_trace=False)
    traced = fresh("m")
    handle([record(traced, value(traced), [("traceparent", TRACE[0].encode())])], worker.steps())
    assert front.traces == {traced: [(None, None)]}
    events = query("select traceparent from outbox where payload->>'message_id' = %s", traced)
    assert set(events) == {(TRACE[0],)}  # a message may have several


def test_only_ten_are_put_aside_at_a_time(front: Front, make_worker: MakeWorker) -> None:
    """If the receiver says 404 to everybody it is not one item's fault: the batch waits."""

    def mend(waits: int) -> None:
        if waits == 5:
            front.status_of.clear()

    worker = make_worker(mend)
    ids, records = orders(100)
    front.status_of = dict.fromkeys(ids, 404)
    handle(records, worker.steps())
    assert worker.marks() == {"audited": 90, "refused": 0, "open": 10}
    repeat = worker.steps().repeat
    until(
        lambda: (repeat(), worker.marks())[1],
        lambda marks: marks["open"] == 0,
        10,
        "they were not repeated",
    )
    exactly_one(ids)


def test_two_workers_do_not_repeat_the_same(
    front: Front, make_worker: MakeWorker, engine: Engine
) -> None:
    """What another worker has claimed is skipped, without waiting for it."""
    worker = make_worker(give_up)
    ids, records = orders(10)
    front.status_of = dict.fromkeys(ids[:6], 409)
    handle(records, worker.steps())
    subscriber = worker.settings.subscriber
    claim = partial(claim_due, engine, subscriber, Patience(3600, repeat_seconds=3600))
    with connect(role="postgres") as other, other.transaction():
        other.execute("select from audit_failure where message_id = any(%s) for update", [ids[:2]])
        claimed = until(claim, bool, 5, "nothing is due")
        assert {item.message_id for item in claimed} == set(ids[2:6])
    assert {item.message_id for item in claim()} == set(ids[:2])
    assert claim() == []


def test_a_repeat_never_waits_for_the_receiver(front: Front, make_worker: MakeWorker) -> None:
    """While it is down, the entries stay where they are, and the batches go first."""
    worker = make_worker(give_up)
    ids, records = orders(10)
    front.status_of[ids[0]] = 409
    handle(records, worker.steps())
    away = make_worker(give_up, audit_url="http://127.0.0.1:1")
    repeat = away.steps().repeat
    for _ in range(5):
        repeat()
    assert not away.group.reasons
    assert worker.marks() == {"audited": 9, "refused": 0, "open": 1}


def test_entries_one_by_one_have_the_same_effects(
    spoiled: Stack, front: Front, make_worker: MakeWorker
) -> None:
    """AUDIT_MODE=single: each is taken with its own header, at first and when it is sent again."""
    real = spoiled.env()["AUDIT_URL"]
    single = make_worker(give_up, audit_mode="single", audit_url=real)
    ids, records = orders(30)
    handle(records, single.steps())
    assert single.marks() == {"audited": 30, "refused": 0, "open": 0}

    refused = make_worker(give_up, refusal_limit=1000)
    front.status_of_all = 400
    ids_of_refused, records = orders(20)
    handle(records, refused.steps())
    env = environment(spoiled, single) | {"AUDIT_MODE": "single"}
    assert retry(env, Choice(), no_note) == Done(taken=20, refused=0)

    all_ids = ids + ids_of_refused
    exactly_one(all_ids)
    keys = query(
        "select idempotency_key from audit_entry where message_id = any(%s)",
        all_ids,
        database="audit",
    )
    subscriber = single.settings.subscriber
    assert {key for (key,) in keys} == {derive("audit", i, subscriber) for i in all_ids}


def environment(stack: Stack, worker: Worker) -> dict[str, str]:
    """Return the environment of `pipeline` for the subscriber of a worker."""
    return {
        **stack.env(),
        "ATTACH": "true",
        "SUBSCRIBER": worker.settings.subscriber,
        "AUDIT_URL": worker.settings.audit_url,
    }


class Typed(NamedTuple):
    """What a command said, and its exit code."""

    code: int
    found: Any
    errors: str


def type_in(env: dict[str, str], *words: str) -> Typed:
    """Run `pipeline audit retry --json`."""
    command = [sys.executable, "-m", "ops", "audit", "retry", "--json", *words]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
    return Typed(done.returncode, json.loads(done.stdout or "null"), done.stderr)


def no_note(_text: str) -> None:
    """Show nothing."""


def test_what_was_refused_can_be_sent_again(
    spoiled: Stack, front: Front, make_worker: MakeWorker
) -> None:
    """By reason and age, with the same key and bytes; the marks say that it was audited then."""
    worker = make_worker(give_up, refusal_limit=1000)
    ids, records = orders(600)
    front.status_of = dict.fromkeys(ids[:4], 422) | dict.fromkeys(ids[4:], 400)
    handle(records, worker.steps())
    env = environment(spoiled, worker)

    counted = type_in(env, "--reason", "400 ", "--newer-than", "1h")
    assert counted.code == 1
    [reason] = counted.found
    assert (reason["reason"], reason["entries"]) == (f"400 {DETAIL}", 596)
    assert count_refused(env, Choice(older_than=3600)) == []
    assert worker.marks()["refused"] == 600, "it must only count without --yes"

    front.status_of = dict.fromkeys(ids[:4], 422)
    assert retry(env, Choice(), no_note) == Done(taken=596, refused=4)
    assert worker.marks() == {"audited": 596, "refused": 4, "open": 0}
    front.status_of.clear()
    sent = type_in(env, "--yes", "--reason", "422 total")
    assert (sent.code, sent.found) == (0, {"taken": 4, "refused": 0})
    assert worker.marks() == {"audited": 600, "refused": 0, "open": 0}

    assert len(front.sent) == 600
    assert all(len(bodies) == 1 for bodies in front.sent.values())
    exactly_one(ids)


def test_what_is_refused_once_more_stays_refused(
    spoiled: Stack, front: Front, make_worker: MakeWorker
) -> None:
    """Whether item by item or as a whole request; nothing is lost while the receiver is down."""
    worker = make_worker(give_up, refusal_limit=1000)
    ids, records = orders(40)
    front.status_of_all = 413
    handle(records, worker.steps())
    env = environment(spoiled, worker)
    assert retry(env, Choice(), no_note) == Done(taken=0, refused=40)
    front.status_of_all = 0
    front.status_of = {ids[7]: 409}
    assert retry(env, Choice(), no_note) == Done(taken=39, refused=1)
    errors = query("select audit_error from tracking where message_id = %s", ids[7])
    assert errors == [(f"409 {DETAIL}",)]

    with pytest.raises(StackError, match="AUDIT_MODE=singel: should be batch or single"):
        retry(env | {"AUDIT_MODE": "singel"}, Choice(), no_note)
    down = type_in(env | {"AUDIT_URL": "http://127.0.0.1:1"}, "--yes")
    assert (down.code, down.found) == (2, None)
    assert "audit receiver: ConnectionError; 0 were sent" in down.errors
    assert "Traceback" not in down.errors
    front.status_of.clear()
    assert retry(env, Choice(), no_note) == Done(taken=1, refused=0)
    exactly_one(ids)


def test_what_an_older_version_has_refused_can_be_sent_again(
    spoiled: Stack, front: Front, engine: Engine
) -> None:
    """The migration finds out what was sent, down to the bytes: the receiver knows them."""
    execute("delete from audit_failure where subscriber = 'fulfillment'")
    with StubServer(front.handle) as server:
        settings = Settings(audit_url=server.url, refusal_limit=1000)
        worker = Worker(engine, settings, Group(give_up))
        ids, records = orders(3)
        repeated = record(fresh("m"), records[0].value)  # its order is fulfilled: a rejection
        front.status_of_all = 422
        handle([*records, repeated], worker.steps())
        execute("delete from audit_failure where subscriber = 'fulfillment'")
        revision = run_path(str(ROOT / "migrations" / "fulfillment" / "0008_audit_failures.py"))
        execute(revision["REFUSED_BEFORE"])
        front.status_of_all = 0
        done = retry(environment(spoiled, worker), Choice("422 total"), no_note)
    assert done == Done(taken=4, refused=0)
    assert len(front.sent) == 4
    assert all(len(bodies) == 1 for bodies in front.sent.values())
    exactly_one(ids)
