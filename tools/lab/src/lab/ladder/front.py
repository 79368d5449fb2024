"""Stands before a receiver: every POST takes effect, and some of the answers get lost."""

import json
from collections.abc import Callable
from typing import Any

import psycopg

from lab.ladder.strikes import Strikes
from ops.fault_proxy import Request

Target = Callable[
    [str, bytes], tuple[int, bytes]
]  # path and body of a request -> status and body of its answer


def book(database: psycopg.Connection[Any]) -> Target:
    """A receiver that books whatever it is told, as often as it is told, whatever the key."""

    def receive(_path: str, body: bytes) -> tuple[int, bytes]:
        items = entries(body)
        told = [item["body"]["message_id"] for item in items]
        database.execute("insert into ladder.audit_entry select unnest(%s::text[])", [told])
        answers = [
            {"idempotency_key": item["idempotency_key"], "status": 201, "body": {}}
            for item in items
        ]
        return 200, json.dumps({"items": answers}).encode()

    return receive


def entries(body: bytes) -> list[dict[str, Any]]:
    """The entries of one request, which may be a single one without a key."""
    document = json.loads(body)
    items: list[dict[str, Any]] = document.get("items") or [
        {"idempotency_key": None, "body": document}
    ]
    return items


def losing(target: Target, strikes: Strikes) -> Callable[[Request, bytes], None]:
    """Every request has its effect; whose answer a strike takes is told nothing."""

    def handle(request: Request, body: bytes) -> None:
        status, content = target(request.path, body)
        if strikes.take("answer", [item["body"]["message_id"] for item in entries(body)]):
            request.close_connection = True
        else:
            request.answer(status, content)

    return handle
