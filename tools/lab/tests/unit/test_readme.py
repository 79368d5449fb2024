"""The order and the event that the template's README shows are what the code makes of them."""

import json
import re
from base64 import b64decode
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from contract.events import ACCEPTED, EVENTS, REASONS
from contract.names import INPUT_TOPIC
from contract.order import InvalidOrderError, parse_order, total
from service.ids import derive, traceparent

ROOT = Path(__file__).parents[4]
README = (ROOT / "README.md").read_text()
WIRE = (ROOT / "docs" / "wire.md").read_text()
LADDER_HOPS = ("rows", "events", "audit entries")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Shown(NamedTuple):
    """A record as a page shows it."""

    envelope: str
    value: str

    def header(self, name: str) -> str:
        """Return the value of a header."""
        found = re.search(rf"\b{name}: (\S+)", self.envelope)
        assert found, name
        return found[1]

    @property
    def key(self) -> str:
        """Return the key of the record."""
        return self.envelope.partition("key ")[2].split()[0]


def shown(page: str) -> list[Shown]:
    """Return the records of a page, in the sequence in which it shows them."""
    blocks = BLOCK.findall(page)
    return [
        Shown(envelope, value)
        for (kind, envelope), (next_kind, value) in pairwise(blocks)
        if kind == "text" and re.search("^key ", envelope, re.MULTILINE) and next_kind == "json"
    ]


@pytest.mark.parametrize("page", [README, WIRE], ids=["README", "wire"])
def test_the_shown_event_is_what_comes_of_the_shown_order(page: str) -> None:
    """Total, derived ids and trace of the event follow from the order; the rest is passed on."""
    order_record, event_record = shown(page)[:2]
    order = parse_order(order_record.value.encode())
    message_id = order_record.header("message_id")
    event: dict[str, Any] = json.loads(event_record.value)
    event_id = derive("event", message_id)

    derived = {
        "message_id": message_id,
        "fulfillment_id": derive("fulfillment", message_id),
        "total": total(order),
    }
    assert event == {**order, **derived}
    assert order_record.key == event_record.key == order["order_id"]
    assert event_record.header("id") == event_id
    assert event_record.header("traceparent") == traceparent(None, event_id)


def test_the_other_shown_events_follow_from_their_records() -> None:
    """A shown rejection, dead letter and audit entry follow from their messages, too."""
    rejection, letter, entry = (json.loads(event.value) for event in shown(WIRE)[2:])
    assert rejection["reason"] in REASONS
    assert entry["idempotency_key"] == derive("audit", entry["message_id"])
    value = b64decode(letter["value"])
    assert letter["value_length"] == len(value)
    assert letter["value_sha256"] == sha256(value).hexdigest()
    with pytest.raises(InvalidOrderError, match=re.escape(letter["reason"])):
        parse_order(value)


def test_the_readme_shows_the_topics_and_the_event_type_of_the_contract() -> None:
    """The shown order is on the input topic, the shown event on the topic of an accepted order."""
    [accepted] = [event for event in EVENTS if event.outcome == ACCEPTED]
    _, event_record = shown(README)[:2]
    assert f"A record on `{INPUT_TOPIC}`" in README
    assert f"becomes a record on `{accepted.topic}`" in README
    assert event_record.header("event_type") == accepted.event_type


def test_the_readme_makes_five_promises() -> None:
    """Each of the five is also a row of the whole table, with the same test."""
    section = README.partition("## Five promises")[2].partition("\n## ")[0]
    promises = re.split(r"^\d\. ", section, flags=re.MULTILINE)[1:]
    assert len(promises) == 5
    table = (ROOT / "docs" / "promises.md").read_text()
    for promise in promises:
        [(name, file)] = re.findall(r"\[(\w+)\]\(([\w/]+\.py)\)", promise)
        assert f"[{name}](../{file})" in table


def test_the_numbers_page_repeats_the_ladder() -> None:
    """Speed, rows, events and audit entries of each step are those of the ladder's page."""
    ladder = (ROOT / "tools" / "lab" / "pages" / "ladder.md").read_text()
    numbers = (ROOT / "docs" / "numbers.md").read_text()
    for step in range(6):
        [full] = re.findall(rf"^\| \({step}\) .*$", ladder, re.MULTILINE)
        [short] = re.findall(rf"^\| {step}\. .*$", numbers, re.MULTILINE)
        _, speed, *_, all_at_once = cells_of(full)
        found = [re.search(rf"{hop} ([^<]+)", all_at_once) for hop in LADDER_HOPS]
        counts = [count[1].strip() if count else "0" for count in found]
        assert cells_of(short)[1:] == [speed, *counts]


def cells_of(row: str) -> list[str]:
    """Return the cells of a row of a Markdown table."""
    return [cell.strip() for cell in row.strip("| ").split(" | ")]
