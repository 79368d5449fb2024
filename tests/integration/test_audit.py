"""The audit receiver over HTTP: the Idempotency-Key draft, and one effect for each key."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
import requests

from contract.names import AUDIT_DATABASE
from ops.conform.checks import CHECKS
from ops.conform.command import conform, read_body
from ops.conform.exchange import Receiver
from ops.stack.stack import Stack
from tests.client import connect, fresh, query

URL = "/audit-entries"


def body(message_id: str = "m-1", **changes: Any) -> dict[str, Any]:
    """Return a good body, with these changes."""
    good = {
        "message_id": message_id,
        "order_id": "o-1",
        "outcome": "fulfilled",
        "fulfillment_id": "8e03978e-40d5-53e8-bc93-6894a57f9324",
        "total": "47.70",
    }
    return good | changes


def post(stack: Stack, key: str | None, entry: Any, **headers: str) -> requests.Response:
    """Post one entry under one key."""
    found = headers if key is None else {"Idempotency-Key": f'"{key}"'} | headers
    return requests.post(f"{stack.env()['AUDIT_URL']}{URL}", json=entry, headers=found, timeout=10)


def post_batch(stack: Stack, *items: tuple[Any, Any]) -> requests.Response:
    """Post many entries, each with its key."""
    document = {"items": [{"idempotency_key": key, "body": entry} for key, entry in items]}
    return requests.post(f"{stack.env()['AUDIT_URL']}{URL}/batch", json=document, timeout=10)


def effects(*keys: str) -> int:
    """Return how many entries these keys have, which is also how many events they have."""
    entries = query(
        "select 1 from audit_entry where idempotency_key = any(%s)", list(keys), database="audit"
    )
    events = query(
        "select 1 from outbox where payload->>'idempotency_key' = any(%s)",
        list(keys),
        database="audit",
    )
    assert len(entries) == len(events)
    return len(entries)


def test_the_stored_answer_is_replayed(spoiled: Stack) -> None:
    """The same key and body again give the same status, the same bytes and one effect."""
    key = str(uuid4())
    first, second = (post(spoiled, key, body()) for _ in range(2))
    assert first.status_code == second.status_code == 201
    assert first.content == second.content
    assert first.json()["idempotency_key"] == key
    assert effects(key) == 1


def test_a_lost_entry_is_stored_again(spoiled: Stack) -> None:
    """An entry that somebody has deleted comes back under its key; its event is not doubled."""
    key = str(uuid4())
    first = post(spoiled, key, body())
    with connect("audit", "postgres") as admin:
        admin.execute("delete from audit_entry where idempotency_key = %s", [key])
    again = post(spoiled, key, body())
    assert (again.status_code, again.content) == (201, first.content)
    assert effects(key) == 1


def test_the_same_key_with_another_body_is_422(spoiled: Stack) -> None:
    """A key belongs to its first body; another body is refused, and the stored answer stays."""
    key = str(uuid4())
    answer = post(spoiled, key, body()).content
    refused = post(spoiled, key, body(total="47.71"))
    assert refused.status_code == 422
    assert refused.headers["Content-Type"] == "application/problem+json"
    assert post(spoiled, key, body()).content == answer
    assert effects(key) == 1


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "unquoted",
        '""',
        '"open',
        '"a b"',
        '"a", "b"',
        '"' + "x" * 129 + '"',
        '"\\"',
        '"ü"',
    ],
)
def test_a_missing_or_malformed_key_is_400(spoiled: Stack, header: str | None) -> None:
    """Without exactly one quoted key, nothing is done."""
    [(before,)] = query("select count(*) from audit_entry", database="audit")
    found = {} if header is None else {"Idempotency-Key": header.encode()}
    answer = requests.post(
        f"{spoiled.env()['AUDIT_URL']}{URL}", json=body(), headers=found, timeout=10
    )
    assert answer.status_code == 400
    assert answer.json()["detail"].startswith("Idempotency-Key: ")
    assert query("select count(*) from audit_entry", database="audit") == [(before,)]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"message_id": ""}, "message_id"),
        ({"order_id": "a\nb"}, "order_id"),
        ({"outcome": "lost"}, "outcome"),
        ({"total": "many"}, "total"),
        ({"fulfillment_id": None}, "fulfillment_id"),
        ({"outcome": "rejected"}, "fulfillment_id"),
        ({"fulfillment_id": "7"}, "fulfillment_id"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_a_broken_field_is_named(spoiled: Stack, changes: dict[str, Any], field: str) -> None:
    """A body that breaks the contract is a 400 whose detail begins with the field."""
    key = str(uuid4())
    answer = post(spoiled, key, body(**changes))
    assert answer.status_code == 400
    assert answer.json()["detail"].startswith(f"{field}: ")
    assert effects(key) == 0


@pytest.mark.parametrize("raw", [b"", b"{", b"\xff", b"[" * 100_000, b"null", b"[]"])
def test_bytes_that_are_not_a_body_are_400(spoiled: Stack, raw: bytes) -> None:
    """Broken JSON, parser bombs and other types are 400 at both addresses."""
    headers = {"Idempotency-Key": f'"{uuid4()}"'}
    for path in (URL, f"{URL}/batch"):
        answer = requests.post(
            f"{spoiled.env()['AUDIT_URL']}{path}", raw, headers=headers, timeout=10
        )
        assert answer.status_code == 400
        assert answer.json()["status"] == 400


def test_a_body_beyond_the_limit_is_413(spoiled: Stack) -> None:
    """A body of more than 1 MiB is refused, whether its length is announced or not."""

    def unannounced() -> Any:
        for _ in range(32):
            yield b" " * 65536

    for data in (b" " * (1024 * 1024 + 1), unannounced()):
        answer = requests.post(
            f"{spoiled.env()['AUDIT_URL']}{URL}",
            data,
            headers={"Idempotency-Key": '"k"'},
            timeout=10,
        )
        assert answer.status_code == 413


def test_twenty_posts_at_once_have_one_effect(spoiled: Stack) -> None:
    """Of concurrent posts of one key, one makes the entry and all get the same answer."""
    key = str(uuid4())
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: post(spoiled, key, body()), range(20)))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.content for answer in answers}) == 1
    assert effects(key) == 1


def test_a_key_still_in_progress_is_409(spoiled: Stack) -> None:
    """A second request waits two seconds for the first one's answer, then gets 409."""
    key = str(uuid4())
    with connect("audit", "audit") as first:
        first.execute("begin")
        first.execute(
            """
            insert into audit_entry
                (idempotency_key, audit_entry_id, message_id,
                 order_id, outcome, body_sha256, answer)
            values (%s, gen_random_uuid(), 'm', 'o', 'rejected', '', '{}')
            """,
            [key],
        )
        for answer in (
            post(spoiled, key, body()),
            post_batch(spoiled, (str(uuid4()), body()), (key, body())),
        ):
            assert answer.status_code == 409
            assert answer.headers["Retry-After"] == "1"
            assert 2 <= answer.elapsed.total_seconds() < 4
        first.execute("rollback")
    assert post(spoiled, key, body()).status_code == 201


def test_it_conforms_to_the_draft_of_the_header(spoiled: Stack) -> None:
    """As `pipeline conform` finds out, which knows nothing of how it is made.

    In batches too, and under a key whose entry has been deleted for its age.
    """
    url = f"{spoiled.env()['AUDIT_URL']}/audit-entries"
    receiver = Receiver(url, read_body(None), {}, batch_url=f"{url}/batch")
    expired, entry = receiver.fresh()
    assert receiver.post(expired, entry).is_success
    with connect(AUDIT_DATABASE, "postgres") as admin:
        admin.execute("delete from audit_entry where idempotency_key = %s", [expired])
    results = list(conform(replace(receiver, expired_key=expired)))
    assert [result for result in results if not result.ok] == []
    assert [result.name for result in results] == [check.name for check in CHECKS]
    assert [result.name for result in results if result.missing] == ["kept"]


def test_a_batch_is_answered_item_by_item(spoiled: Stack) -> None:
    """Good, broken, repeated and contradicting items in one batch each get their own answer."""
    one, two = str(uuid4()), str(uuid4())
    answer = post_batch(
        spoiled,
        (one, body("m-1")),
        (two, body(outcome="lost")),
        ("not a key", body()),
        (one, body("m-1")),
        (one, body("m-2")),
        (two, body("m-3")),
    )
    assert answer.status_code == 200
    items = answer.json()["items"]
    assert [item["status"] for item in items] == [201, 400, 400, 201, 422, 201]
    assert [item["idempotency_key"] for item in items] == [one, two, "not a key", one, one, two]
    assert items[0]["body"] == items[3]["body"]
    assert effects(one, two) == 2


def test_single_and_batch_know_each_other(spoiled: Stack) -> None:
    """An entry posted alone, and then in a batch with its fields in another sequence, is one."""
    key = str(uuid4())
    alone = post(spoiled, key, body())
    [item] = post_batch(spoiled, (key, dict(reversed(body().items())))).json()["items"]
    assert (item["status"], item["body"]) == (201, alone.json())
    assert effects(key) == 1


PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
STATE = "vendor=1"
TRACE = {"traceparent": PARENT, "tracestate": STATE}


def post_traced(stack: Stack, key: str, entry: Any, trace: dict[str, Any]) -> Any:
    """Post a batch of one entry with a trace beside its body; return its answer."""
    document = {"items": [{"idempotency_key": key, "body": entry, **trace}]}
    url = f"{stack.env()['AUDIT_URL']}{URL}/batch"
    [item] = requests.post(url, json=document, timeout=10).json()["items"]
    return item


def trace_of(key: str) -> tuple[str, str]:
    """Return the trace of the event of an entry."""
    [found] = query(
        "select traceparent, tracestate from outbox where payload->>'idempotency_key' = %s",
        key,
        database="audit",
    )
    parent, state = found
    return parent, state


def test_the_trace_of_an_entry_is_that_of_its_event(spoiled: Stack) -> None:
    """Beside the body in a batch, as headers of a single entry."""
    in_batch, single = str(uuid4()), str(uuid4())
    assert post_traced(spoiled, in_batch, body(), TRACE)["status"] == 201
    assert post(spoiled, single, body(), **TRACE).status_code == 201
    assert trace_of(in_batch) == trace_of(single) == (PARENT, STATE)


@pytest.mark.parametrize("sent", [{}, TRACE])
def test_an_entry_may_come_again_with_another_trace_or_none(
    spoiled: Stack, sent: dict[str, str]
) -> None:
    """Its key belongs to its body alone: what an older version has sent first is known."""
    key = str(uuid4())
    first = post_traced(spoiled, key, body(), sent)
    trace = trace_of(key)
    for again in (TRACE, {}, {"traceparent": PARENT.replace("4bf9", "0000")}):
        assert post_traced(spoiled, key, body(), again) == first
        answer = post(spoiled, key, body(), **again)
        assert (answer.status_code, answer.json()) == (201, first["body"])
    assert effects(key) == 1
    assert trace_of(key) == trace, "an event is never changed"


@pytest.mark.parametrize(
    "broken",
    [
        {"traceparent": "00-zz", "tracestate": STATE},
        {"traceparent": 1},
        {"traceparent": [PARENT]},
        {"tracestate": STATE},
        {"traceparent": None, "tracestate": None},
    ],
)
def test_a_broken_trace_harms_no_entry(spoiled: Stack, broken: dict[str, Any]) -> None:
    """Its event has another one, which is derived from the entry, and no state."""
    key = str(uuid4())
    answer = post_traced(spoiled, key, body(), broken)
    assert answer["status"] == 201
    parent, state = trace_of(key)
    digits = answer["body"]["audit_entry_id"].replace("-", "")
    assert parent == f"00-{digits}-{digits[:16]}-00"
    assert state == ""


def test_a_broken_state_is_dropped_alone(spoiled: Stack) -> None:
    """The trace goes on without it."""
    for state in ("no equals sign", 1, ["a=1"], "x" * 10_000):
        key = str(uuid4())
        answer = post_traced(spoiled, key, body(), {"traceparent": PARENT, "tracestate": state})
        assert answer["status"] == 201
        assert trace_of(key) == (PARENT, "")


def test_a_batch_that_is_too_long_is_413(spoiled: Stack) -> None:
    """More than a thousand entries are refused before any is checked."""
    assert post_batch(spoiled, *[("k", {})] * 1001).status_code == 413


def test_the_event_is_the_answer(spoiled: Stack) -> None:
    """The answer to the caller and the published event are the same document."""
    key, message_id = str(uuid4()), fresh("m")
    answer = post(spoiled, key, body(message_id))
    [(payload,)] = query(
        "select payload::text from outbox where payload->>'message_id' = %s",
        message_id,
        database="audit",
    )
    assert json.loads(payload) == answer.json()


RETIRE = "select retire_entries(%s, %s)"
NOW = "select pg_snapshot_xmin(pg_current_snapshot())::text::bigint"
NOTED = "select coalesce(sum(entries), 0)::bigint from retired_entry where topic = %s"


def landed(topic: str, *keys: str, **changes: Any) -> str:
    """Return the events of these keys as retention hands them over, with some values changed."""
    events = query(
        "select payload from outbox where payload->>'idempotency_key' = any(%s)",
        list(keys),
        database="audit",
    )
    fields = ("idempotency_key", "audit_entry_id", "body_sha256")
    rows = []
    for offset, (event,) in enumerate(events):
        at = {"topic": topic, "partition": 0, "offset": offset}
        rows.append({**at, **{name: event[name] for name in fields}, **changes})
    return json.dumps(rows)


def retire(topic: str, *keys: str) -> None:
    """Delete these entries and their events, as retention does."""
    with connect("audit", "purger") as purger:
        [(now,)] = purger.execute(NOW).fetchall()
        deleted = purger.execute(RETIRE, [landed(topic, *keys), now]).fetchall()
        purger.execute(
            "select retire(%s, %s, 100000, '(0,0)')", [["audit-entry-recorded"], now]
        ).fetchall()
    assert deleted == [(len(keys),)]
    assert effects(*keys) == 0


def test_an_entry_that_comes_again_after_retention_is_as_it_was(spoiled: Stack) -> None:
    """The same key and body give the same answer, and an event with the same id and bytes."""
    key, topic = str(uuid4()), fresh("topic")
    event = "select event_id, payload::text from outbox where payload->>'idempotency_key' = %s"
    first = post(spoiled, key, body())
    published = query(event, key, database="audit")
    retire(topic, key)
    assert query(NOTED, topic, database="audit") == [(1,)]
    again = post(spoiled, key, body())
    assert (again.status_code, again.content) == (201, first.content)
    assert query(event, key, database="audit") == published
    retire(topic, key)
    assert query(NOTED, topic, database="audit") == [(1,)]  # of one event


def test_limit_a_retired_key_takes_another_body(spoiled: Stack) -> None:
    """Nothing knows the key any more: that is why no age may be below the longest replay."""
    key = str(uuid4())
    post(spoiled, key, body())
    assert post(spoiled, key, body(total="47.71")).status_code == 422
    retire(fresh("topic"), key)
    assert post(spoiled, key, body(total="47.71")).status_code == 201


def test_an_entry_stays_that_is_not_judged_or_not_as_its_event_says(spoiled: Stack) -> None:
    """Another body, another id, or a transaction that nobody has judged: nothing is deleted."""
    key, topic = str(uuid4()), fresh("topic")
    post(spoiled, key, body())
    [(written_by,)] = query(
        "select written_by from audit_entry where idempotency_key = %s", key, database="audit"
    )
    with connect("audit", "purger") as purger:
        for events, before in [
            (landed(topic, key, body_sha256="0" * 64), written_by + 1),
            (landed(topic, key, audit_entry_id=str(uuid4())), written_by + 1),
            (landed(topic, key), written_by),
        ]:
            assert purger.execute(RETIRE, [events, before]).fetchall() == [(0,)]
        assert purger.execute(RETIRE, [landed(topic, key), written_by + 1]).fetchall() == [(1,)]
    assert query(NOTED, topic, database="audit") == [(1,)]


def test_no_sender_waits_while_entries_are_retired(spoiled: Stack) -> None:
    """While thousands of entries go, new ones and some of the same keys are taken at once.

    The control: as long as the transaction that deletes an entry is open, its key has to wait.
    """
    prefix, topic = fresh("old"), fresh("topic")
    keys = [f"{prefix}-{n}" for n in range(3000)]
    for first in range(0, len(keys), 1000):
        post_batch(spoiled, *((key, body(key)) for key in keys[first : first + 1000]))
    with connect("audit", "purger") as purger:
        [(now,)] = purger.execute(NOW).fetchall()
    events = json.loads(landed(topic, *keys))
    batches = [json.dumps(events[first : first + 10]) for first in range(0, len(events), 10)]

    def delete() -> None:
        with connect("audit", "purger") as purger:
            for batch in batches:
                purger.execute(RETIRE, [batch, now])

    deleting = threading.Thread(target=delete)
    deleting.start()
    beside = 0
    while deleting.is_alive():
        known = keys[beside % len(keys)]
        assert post(spoiled, fresh("new"), body()).status_code == 201
        assert post(spoiled, known, body(known)).status_code == 201  # 409, if it had to wait
        beside += deleting.is_alive()
    deleting.join()
    assert query(NOTED, topic, database="audit") == [(len(keys),)]
    assert beside > 3, "too few were sent meanwhile to say anything"

    key = fresh("held")
    post(spoiled, key, body())
    with connect("audit", "purger") as purger, purger.transaction():
        [(now,)] = purger.execute(NOW).fetchall()
        assert purger.execute(RETIRE, [landed(topic, key), now]).fetchall() == [(1,)]
        assert post(spoiled, key, body()).status_code == 409
