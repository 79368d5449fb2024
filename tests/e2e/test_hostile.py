"""Hostile records between good ones: good ones are fulfilled, bad ones become dead letters."""

import json
from base64 import b64decode
from hashlib import sha256

import pytest

from contract.samples import CHANGED
from ops.stack.stack import Stack
from tests.builders import value
from tests.client import (
    Landed,
    Sent,
    exactly_one,
    fresh,
    query,
    send,
    until_handled,
    until_published,
)

GOOD = value()
BIG = b'{"order_id": "' + b"x" * 1_000_000 + b'"}'
HOSTILE: dict[str, Sent] = {
    "truncated": Sent("h", "k", GOOD[:-20]),
    "empty": Sent("h", "k", b""),
    "tombstone": Sent("h", "k", None),
    "nul": Sent("h", "k", value("a\0b")),
    "lone surrogate": Sent("h", "k", value("\ud800")),
    "nan": Sent("h", "k", GOOD[:-1] + b', "x": NaN}'),
    "1e400": Sent("h", "k", GOOD[:-1] + b', "x": 1e400}'),
    "5,000 digits": Sent("h", "k", GOOD[:-1] + b', "x": ' + b"9" * 5_000 + b"}"),
    "nested 100,000 deep": Sent("h", "k", b"[" * 100_000 + b"]" * 100_000),
    "nested 30,000 deep": Sent("h", "k", b"[" * 30_000 + b"]" * 30_000),
    "duplicate keys": Sent("h", "k", GOOD[:-1] + b', "order_id": "o-2"}'),
    "invalid utf-8": Sent("h", "k", b"\xff\xfe\x00"),
    "one megabyte": Sent("h", "k", BIG),
    "no message id": Sent(None, "k", GOOD),
    "long message id": Sent("x" * 65, "k", GOOD),
    "newline in message id": Sent("a\r\nb", "k", GOOD),
    "message id not utf-8": Sent(b"\xff", "k", GOOD),
    "long order id": Sent("h", "k", value("x" * 65)),
    "newline in order id": Sent("h", "k", value("a\r\nb")),
    "odd headers": Sent(
        "h",
        "k",
        b"{",
        [("nul", b"\0"), ("none", None), ("ünï", b"\xff"), ("twice", b"1"), ("twice", b"2")],
    ),
    "many headers": Sent("h", "k", b"{", [(f"h{n}", b"x" * 100) for n in range(500)]),
}


def test_hostile_records_become_dead_letters_and_block_nobody(stack: Stack) -> None:
    """Good orders around each bad record have one of everything; dead letters keep the bytes."""
    prefix = fresh("good")
    good: list[str] = []
    sent: list[Sent] = []
    for n, bad in enumerate(HOSTILE.values()):
        good += [f"{prefix}-{n}-a", f"{prefix}-{n}-b"]
        sent += [Sent(good[-2], "k", value(good[-2])), bad, Sent(good[-1], "k", value(good[-1]))]
    places = send(sent)
    until_handled()
    exactly_one(good)
    positions = {
        name: f"order.events/{partition}/{offset}"
        for name, (partition, offset) in zip(HOSTILE, places[1::3], strict=True)
    }
    wanted = set(positions.values())
    events = until_published("dead-letter.events", lambda event: event.key in wanted, len(wanted))
    letters = {event.key: event for event in events}
    assert len(events) == len(letters) == len(HOSTILE)
    for name, bad in HOSTILE.items():
        assert_kept(name, bad, positions[name], letters[positions[name]])


def assert_kept(name: str, bad: Sent, position: str, event: Landed) -> None:
    """Assert that a dead letter has the record's position, a reason, and its bytes."""
    letter = json.loads(event.value)
    assert f"{letter['topic']}/{letter['partition']}/{letter['offset']}" == position
    assert letter["kind"] == ("too_large" if len(bad.value or b"") > 65536 else "invalid"), name
    assert letter["reason"].startswith(("value: ", "headers.", "order_id: ")), (
        name,
        letter["reason"],
    )
    kept = None if letter["value"] is None else b64decode(letter["value"])
    assert kept == (None if bad.value is None else bad.value[: 64 * 1024]), name
    assert letter["value_length"] == (None if bad.value is None else len(bad.value))
    assert letter["value_sha256"] == (None if bad.value is None else sha256(bad.value).hexdigest())
    given = (
        [("message_id", bad.message_id), *bad.headers]
        if bad.message_id is not None
        else bad.headers
    )
    for header, (header_name, content) in zip(letter["headers"], given, strict=False):
        as_bytes = content.encode() if isinstance(content, str) else content
        assert header["name"] == header_name
        assert (None if header["value"] is None else b64decode(header["value"])) == as_bytes
    assert letter["headers"] or not given


@pytest.mark.parametrize(
    "odd", ["'; drop table tracking; --", '"quoted"', "50%", "\\x41", "注文", "a b"]
)
def test_an_odd_id_passes_every_hop(stack: Stack, odd: str) -> None:
    """SQL, quotes, escapes, other scripts and spaces in ids reach the topic unchanged."""
    order_id, message_id = f"{odd} {fresh()}", f"{odd} {fresh()}"
    send([Sent(message_id, order_id, value(order_id, colour=odd))])
    until_handled()
    exactly_one([message_id])
    [event] = until_published("fulfillment.events", lambda e: e.key == order_id, 1)
    assert json.loads(event.value)["order_id"] == order_id
    assert json.loads(event.value)["message_id"] == message_id


def test_a_second_message_for_an_order_is_a_rejection(stack: Stack) -> None:
    """Of two messages for one order in a batch, the lower offset wins; later ones are rejected."""
    order_id, first, second, third = fresh("o"), fresh("a"), fresh("b"), fresh("c")
    send([Sent(first, order_id, value(order_id)), Sent(second, order_id, value(order_id))])
    until_handled()
    send([Sent(third, order_id, value(order_id))])
    until_handled()
    rejections = until_published("rejection.events", lambda e: e.key == order_id, 2)
    assert [json.loads(event.value) for event in rejections] == [
        {
            "message_id": m,
            "order_id": order_id,
            "reason": "already_fulfilled",
            "fulfilled_by": first,
        }
        for m in (second, third)
    ]
    assert query("select message_id from fulfillment where order_id = %s", order_id) == [(first,)]
    outcomes = query(
        "select message_id, outcome from audit_entry where order_id = %s",
        order_id,
        database="audit",
    )
    assert len(outcomes) == 3
    assert dict(outcomes) == {first: "fulfilled", second: "rejected", third: "rejected"}


def test_a_conflict_is_a_dead_letter_and_changes_nothing(stack: Stack) -> None:
    """The same message id with another value, in the same or a later batch, is a dead letter."""
    order_id, message_id = fresh("o"), fresh("m")
    other, later = value(order_id, **CHANGED), value(order_id, **CHANGED, colour="another")
    places = send([Sent(message_id, order_id, value(order_id)), Sent(message_id, order_id, other)])
    until_handled()
    places += send([Sent(message_id, order_id, later), Sent(message_id, order_id, value(order_id))])
    until_handled()
    exactly_one([message_id])
    keys = [f"order.events/{partition}/{offset}" for partition, offset in places[1:3]]
    events = until_published("dead-letter.events", lambda e: e.key in keys, 2)
    letters = {
        event.key: json.loads(event.value) for event in events
    }  # by key: they are on two partitions
    assert [(b64decode(letters[key]["value"]), letters[key]["kind"]) for key in keys] == [
        (other, "conflict"),
        (later, "conflict"),
    ]
