"""The contract as a document, and what a later one may not change."""

import json
import re
import sys
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from contract import asyncapi
from contract.asyncapi import AUDIT_FIELDS, LETTER_FIELDS, document
from contract.compatible import find_breaks
from contract.events import EVENTS, Event
from contract.json_types import to_schema
from contract.names import AUDIT_TOPIC, DEAD_LETTER_TOPIC, INPUT_TOPIC
from contract.order import ORDER
from tests.unit.compose_file import ROOT

Json = dict[str, Any]
# Not the contract of this house, so that a copy with another one has the same tests.
COLUMNS = "id string, total decimal(9, 2), parts array<struct<name: string, count: int>>"
DONE = Event("thing-done", "thing.events", columns=COLUMNS)
UNDONE = Event("thing-undone", "undone.events", columns="id string")
NAME = {"type": "string", "maxLength": 64}
PART = {"type": "object", "properties": {"count": {"type": "integer", "maximum": 100}}}
WANTED = {
    "type": "object",
    "properties": {"id": NAME, "note": {"type": "string"}, "parts": {"$ref": "#/$defs/Parts"}},
    "required": ["id", "parts"],
    "$defs": {"Parts": {"type": "array", "items": {"$ref": "#/$defs/Part"}}, "Part": PART},
}
NOW = document(WANTED, [DONE, UNDONE])
REFERENCE = re.compile(r'"\$ref": "#/([^"]+)"')


def payload(contract: Json, name: str) -> Json:
    """Return the schema of a message's body."""
    found: Json = contract["components"]["messages"][name]["payload"]
    return found


def test_each_topic_of_the_contract_is_there() -> None:
    """The input, every event, dead letters and audit events."""
    ours = document(ORDER.json_schema(), EVENTS)
    expected = {INPUT_TOPIC, *(event.topic for event in EVENTS), DEAD_LETTER_TOPIC, AUDIT_TOPIC}
    assert set(ours["channels"]) == expected


def test_each_reference_leads_somewhere() -> None:
    """To a part of the same document, or of the schema that it stands in."""
    text = json.dumps({**NOW, "components": {}})
    references = set(REFERENCE.findall(text))
    assert len(references) > 8
    for reference in references:
        place: Any = NOW
        for word in reference.split("/"):
            place = place[word]


@pytest.mark.parametrize("fields", [AUDIT_FIELDS, LETTER_FIELDS])
def test_what_is_documented_by_example_has_these_fields(fields: tuple[str, ...]) -> None:
    """The bodies in docs/wire.md are real."""
    text = (ROOT / "docs" / "wire.md").read_text()
    bodies = [json.loads(block) for block in re.findall(r"```json\n(\{.*?)```", text, re.DOTALL)]
    assert set(fields) in [set(body) for body in bodies]


@pytest.mark.parametrize(
    ("type_", "schema"),
    [
        ("string", {"type": "string"}),
        ("decimal(28, 2)", {"type": "string"}),
        ("array<int>", {"type": "array", "items": {"type": "integer"}}),
        (
            "struct<a: string, b: array<struct<c decimal(3, 1)>>>",
            {
                "type": "object",
                "properties": {
                    "a": {"type": "string"},
                    "b": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {"c": {"type": "string"}},
                            "required": ["c"],
                        },
                    },
                },
                "required": ["a", "b"],
            },
        ),
    ],
)
def test_a_column_stands_in_a_body_like_this(type_: str, schema: Json) -> None:
    """Numbers with places are text."""
    assert to_schema(type_) == schema


def test_a_type_that_no_column_has_is_refused() -> None:
    """It names the type."""
    with pytest.raises(ValueError, match="binary is no type"):
        to_schema("struct<a: binary>")


def event_loses_a_field(contract: Json) -> None:
    """Whoever reads it finds it no more."""
    del payload(contract, "thing-done")["properties"]["total"]
    payload(contract, "thing-done")["required"].remove("total")


def event_field_changes_its_type(contract: Json) -> None:
    """A text becomes a number."""
    payload(contract, "thing-done")["properties"]["total"] = {"type": "number"}


def nested_field_is_gone(contract: Json) -> None:
    """Within a list of the event."""
    part = payload(contract, "thing-done")["properties"]["parts"]["items"]
    del part["properties"]["name"]


def event_field_may_be_missing(contract: Json) -> None:
    """It was always there."""
    payload(contract, "thing-done")["required"].remove("total")


def header_is_gone(contract: Json) -> None:
    """Readers dedup by it."""
    del contract["components"]["messages"]["thing-done"]["headers"]["properties"]["id"]


def topic_is_gone(contract: Json) -> None:
    """With all that is on it."""
    del contract["channels"]["undone.events"]


def another_field_is_needed(contract: Json) -> None:
    """Those who send today do not send it."""
    payload(contract, "order")["required"].append("currency")


def limit_is_narrower(contract: Json) -> None:
    """A count that was good becomes a dead letter."""
    payload(contract, "order")["$defs"]["Part"]["properties"]["count"]["maximum"] = 10


def limit_is_new(contract: Json) -> None:
    """The same, where there was none."""
    payload(contract, "order")["properties"]["note"]["maxLength"] = 20


BREAKS: list[tuple[Callable[[Json], None], str]] = [
    (event_loses_a_field, "thing-done, payload.total: is gone"),
    (event_field_changes_its_type, "thing-done, payload.total: was string, is number"),
    (nested_field_is_gone, "thing-done, payload.parts[].name: is gone"),
    (event_field_may_be_missing, "thing-done, payload.total: was always there, and is not"),
    (header_is_gone, "thing-done, headers.id: is gone"),
    (topic_is_gone, "topic undone.events is gone"),
    (another_field_is_needed, "order, payload.currency: was not asked for, and is"),
    (limit_is_narrower, "order, payload.parts[].count: maximum was 100, is 10"),
    (limit_is_new, "order, payload.note: maxLength was none, is 20"),
]


@pytest.mark.parametrize(("change", "sentence"), BREAKS)
def test_what_somebody_cannot_follow_is_said(change: Callable[[Json], None], sentence: str) -> None:
    """One sentence, which names the message and the field."""
    later = deepcopy(NOW)
    change(later)
    assert find_breaks(NOW, later) == [sentence]


def test_what_harms_nobody_is_not_said() -> None:
    """The same again; a new field of an event, a wider limit, a new topic."""
    later = deepcopy(NOW)
    payload(later, "thing-done")["properties"]["weight"] = {"type": "string"}
    payload(later, "order")["$defs"]["Part"]["properties"]["count"]["maximum"] = 200
    payload(later, "order")["required"].remove("parts")
    later["channels"]["return.events"] = {"address": "return.events", "messages": {}}
    assert find_breaks(NOW, NOW) == []
    assert find_breaks(NOW, later) == []


def test_the_command_compares_with_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 0 if everybody can follow, 1 if not, 2 for a file that is none."""
    file = tmp_path / "earlier.json"
    ours = document(ORDER.json_schema(), EVENTS)
    monkeypatch.setattr(sys, "argv", ["asyncapi", "--against", str(file)])
    assert asyncapi.main() == 2
    file.write_text(json.dumps(ours))
    assert asyncapi.main() == 0
    event = EVENTS[0].event_type
    payload(ours, event)["properties"]["weight"] = {"type": "string"}
    file.write_text(json.dumps(ours))
    assert asyncapi.main() == 1
    assert f"{event}, payload.weight: is gone" in capsys.readouterr().out
