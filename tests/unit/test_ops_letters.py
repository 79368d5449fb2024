"""What `pipeline dead-letters show` says of a value: every field by its name, nothing that acts."""

import json
import random
from base64 import b64encode
from datetime import UTC, datetime
from typing import Any

import pytest

from contract.samples import INVALID, conflict, invalid, make_order
from ops.letters.command import Letter, act_lines, count_lines, letter_lines
from ops.letters.decoded import HERE, MOST_LINES, WIDTH, decode, visible
from ops.trace.databases import Position
from service.record import DeadLetter, Record, payload, read

AT = datetime(2026, 11, 25, 10, tzinfo=UTC)
GOOD = make_order(random.Random(1), "letters", 0)  # noqa: S311 - repeatable, not secret


def letter_of(sample: Any) -> Letter:
    """The dead letter that the service would make of a sample."""
    record = Record(
        "order.events", 0, 57, sample.order_id.encode(), sample.value, [*sample.headers()]
    )
    item = read(record)
    assert isinstance(item, DeadLetter)
    event = payload(item, "fulfillment")
    return Letter(Position("order.events", 0, 57), item.kind, item.reason, AT, event)


@pytest.mark.parametrize("name", INVALID)
def test_what_is_wrong_is_marked(name: str) -> None:
    """Every sample of the contract: one mark, at the field, the header or the place."""
    letter = letter_of(invalid(GOOD, name))
    shown = list(letter_lines(letter))
    marks = [line for line in shown if line.endswith((HERE, "↑ here"))]
    is_whole = letter.field == "value" and not marks
    assert len(marks) == 1 or is_whole, "\n".join(shown)
    for mark in marks:
        field = letter.field.removeprefix("headers.").rpartition(".")[2].partition("[")[0]
        assert field in mark or letter.field == "value"


def test_a_conflict_is_marked_at_its_id() -> None:
    """The value is a good one; what it conflicts with is another value of the same id."""
    sample = conflict(GOOD)
    record = Record("order.events", 0, 57, b"k", sample.value, [*sample.headers()])
    item = DeadLetter(record, "conflict", "message_id: another value is known")
    letter = Letter(
        Position("order.events", 0, 57), "conflict", item.reason, AT, payload(item, "s")
    )
    [mark] = [line for line in letter_lines(letter) if HERE in line]
    assert mark.startswith("header   message_id = ")


def test_nothing_that_a_terminal_obeys_is_printed() -> None:
    """Control characters, turned lines and bytes that are no text are shown by their numbers."""
    hostile = "\x1b[2J\u202egnp.exe\r\n\x00\u200b"
    value = json.dumps({"order_id": hostile}, ensure_ascii=False).encode() + b"\xff"
    for one in (value, json.dumps({"a": hostile, hostile: 1}).encode(), hostile.encode()):
        for line in decode(one, "a", "a: wrong"):
            assert line.isprintable(), repr(line)
    assert visible("a\u202eb") == "a\\u202eb"


def test_a_megabyte_is_cut() -> None:
    """A long value, a deep one and one of many lines each end after a screen or two."""
    deep = b'{"a": ' * 5_000 + b"1" + b"}" * 5_000
    many = json.dumps({"lines": [{"sku": number} for number in range(10_000)]}).encode()
    for value in (b"x" * 1_000_000, b'{"note": "' + b"x" * 1_000_000 + b'"}', deep, many):
        shown = list(decode(value, "lines[7000].sku", "lines[7000].sku: wrong"))
        assert len(shown) < 80
        assert max(map(len, shown)) <= WIDTH + 40
    assert any(HERE in line for line in shown)


def test_a_letter_whose_event_is_gone_says_where_its_bytes_are() -> None:
    """Retention has deleted the outbox row; kind and reason stay."""
    letter = Letter(Position("order.events", 0, 57), "invalid", "value: empty", None, None)
    shown = list(letter_lines(letter))
    assert shown[0] == "order.events/0/57, buried not known UTC"
    assert "not in the outbox any more" in shown[2]


def test_counts_are_summed_and_long_reasons_cut() -> None:
    """A line for each reason, none longer than a terminal is wide, with one to look at."""
    row = {
        "kind": "invalid",
        "reason": "lines[0].quantity: " + "x" * 500,
        "letters": 1_200,
        "on_their_way": 0,
        "first_at": AT,
        "last_at": AT,
        "latest": "order.events/0/57",
    }
    total, _, line = count_lines([row])
    assert total == "1,200 dead letters"
    assert line.startswith("   1,200  invalid    lines[0].quantity: xxx")
    assert line.endswith("…  2026-11-25 10:00:00  2026-11-25 10:00:00  order.events/0/57")
    assert list(count_lines([])) == ["no dead letters"]
    _, on_their_way, *_ = count_lines([row | {"on_their_way": 3}])
    assert on_their_way.startswith("3 of them were sent again, and not followed to their end")


def test_bytes_come_back_as_they_were_kept() -> None:
    """What the event has as base64 is what was sent."""
    event = {"key": b64encode(b"o-1").decode(), "value": None}
    letter = Letter(Position("order.events", 0, 57), "invalid", "value: null", AT, event)
    assert letter.bytes_of("key") == b"o-1"
    assert letter.bytes_of("value") is None


@pytest.mark.parametrize("depth", [10, 600, 800, 950, 100_000])
def test_a_value_of_any_depth_is_shown(depth: int) -> None:
    """What is nested too deep for lines of its own is cut as plain text, and stops nobody."""
    value = b'{"a":' * depth + b"1" + b"}" * depth
    shown = list(decode(value, "a", "a: something is wrong"))
    assert shown[0].startswith("{")
    assert len(shown) <= MOST_LINES + 1


def test_each_act_says_how_it_ended() -> None:
    """A replay says where the record went and what became of it; a skip says who and why."""
    act = {"by": "somebody", "why": "it is mended", "at": AT.isoformat(), "outcome": None}
    replayed = act | {"act": "replay", "sent": "0/58"}
    skipped = act | {"act": "skip", "sent": None}
    ended = replayed | {"outcome": "dead again"}
    sent, sent_and_ended, left = act_lines([replayed, ended, skipped])
    first = "replay   2026-11-25 10:00:00 by somebody, sent to partition/offset 0/58"
    assert sent == f"{first} (not known yet): it is mended"
    assert sent_and_ended == f"{first} (dead again): it is mended"
    assert left == "skip     2026-11-25 10:00:00 by somebody: it is mended"
