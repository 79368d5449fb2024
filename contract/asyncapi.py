"""python -m contract.asyncapi: the contract as other teams read it, an AsyncAPI 3 document.

With --against FILE, an earlier one, say what has changed so that somebody cannot follow.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from contract.compatible import find_breaks
from contract.events import DEAD_LETTER, EVENTS, Event
from contract.json_types import to_schema
from contract.names import AUDIT_TOPIC, DEAD_LETTER_TOPIC, INPUT_TOPIC
from contract.order import ORDER

Json = dict[str, Any]

STRING = {"type": "string"}
ENVELOPE = ("ce_id", "ce_type", "ce_source", "ce_time", "ce_specversion")  # CloudEvents, binary
HEADERS = (*ENVELOPE, "id", "event_type", "content-type", "traceparent")
MAY_HAVE = ("traceparent", "tracestate")  # events of an earlier version have no tracestate
# What every copy publishes has these fields, whatever its subject is; docs/wire.md explains them.
AUDIT_FIELDS = (
    "audit_entry_id",
    "idempotency_key",
    "message_id",
    "order_id",
    "outcome",
    "body_sha256",
)
LETTER_FIELDS = (
    "topic",
    "partition",
    "offset",
    "subscriber",
    "kind",
    "reason",
    "key",
    "value",
    "headers",
    "value_length",
    "value_sha256",
)


def document(received: Json, events: Sequence[Event]) -> Json:
    """Return the whole contract: what is received, and what is sent."""
    sent = [event_message(event) for event in events]
    sent.append(open_message("audit-entry-recorded", AUDIT_TOPIC, AUDIT_FIELDS))
    sent.append(open_message(DEAD_LETTER, DEAD_LETTER_TOPIC, LETTER_FIELDS))
    taken = message("order", INPUT_TOPIC, received, ("message_id",))
    messages = [taken, *sent]
    return {
        "asyncapi": "3.0.0",
        "info": {"title": INPUT_TOPIC, "version": "1"},
        "defaultContentType": "application/json",
        "channels": {topic: channel(topic, messages) for topic in topics(messages)},
        "operations": {
            "receive": operation("receive", [taken]),
            **{f"send {one['name']}": operation("send", [one]) for one in sent},
        },
        "components": {"messages": {one["name"]: body_of(one) for one in messages}},
    }


def event_message(event: Event) -> Json:
    """Return the message of an event."""
    schema = to_schema(f"struct<{event.columns}>")
    return message(event.event_type, event.topic, schema, HEADERS)


def open_message(name: str, topic: str, fields: tuple[str, ...]) -> Json:
    """Return a message of which the fields are told, and their types in words elsewhere."""
    schema: Json = {"type": "object", "properties": {name: {} for name in fields}}
    return message(name, topic, {**schema, "required": list(fields)}, HEADERS)


def message(name: str, topic: str, payload: Json, headers: tuple[str, ...]) -> Json:
    """Return a message and where it is."""
    properties: Json = dict.fromkeys((*headers, *MAY_HAVE), STRING)
    return {
        "name": name,
        "topic": topic,
        "headers": {"type": "object", "properties": properties, "required": list(headers)},
        "payload": payload,
    }


def body_of(one: Json) -> Json:
    """Return what the document says of a message."""
    return {name: one[name] for name in ("name", "headers", "payload")}


def topics(messages: list[Json]) -> list[str]:
    """Return every topic, each once."""
    return list(dict.fromkeys(one["topic"] for one in messages))


def channel(topic: str, messages: list[Json]) -> Json:
    """Return a topic with what is on it."""
    here = [one["name"] for one in messages if one["topic"] == topic]
    return {
        "address": topic,
        "messages": {name: link("components/messages", name) for name in here},
    }


def operation(action: str, messages: list[Json]) -> Json:
    """Return what we do with messages of one topic."""
    [topic] = topics(messages)
    names = [one["name"] for one in messages]
    return {
        "action": action,
        "channel": link("channels", topic),
        "messages": [link(f"channels/{topic}/messages", name) for name in names],
    }


def link(place: str, name: str) -> Json:
    """Return a reference within the document."""
    return {"$ref": f"#/{place}/{name}"}


def main() -> int:
    """Print it, or what has changed since an earlier one; exit 1 if somebody cannot follow."""
    parser = argparse.ArgumentParser(prog="python -m contract.asyncapi", description=main.__doc__)
    parser.add_argument("--against", type=Path, metavar="FILE", help="an earlier document")
    arguments = parser.parse_args()
    now = document(ORDER.json_schema(), EVENTS)
    if arguments.against is None:
        sys.stdout.write(json.dumps(now, indent=2) + "\n")
        return 0
    try:
        earlier = json.loads(arguments.against.read_text())
        breaks = find_breaks(earlier, now)
    except (OSError, ValueError, KeyError, TypeError) as error:
        sys.stderr.write(f"{arguments.against} is no earlier document: {error}\n")
        return 2
    for line in breaks or ["everybody can follow"]:
        sys.stdout.write(f"{line}\n")
    return 1 if breaks else 0


if __name__ == "__main__":
    sys.exit(main())
