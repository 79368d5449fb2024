"""What answers the POSTs of a cell: every request takes effect, and some answers are lost."""

import json
from collections.abc import Callable
from typing import Any

import psycopg

from lab.ladder.fault_plan import FaultPlan
from ops.fault_proxy import Request

# Path and body of a request -> status and body of its answer.
Receiver = Callable[[str, bytes], tuple[int, bytes]]
INSERT = "insert into ladder.audit_entry select unnest(%s::text[])"


def store_every_request(database: psycopg.Connection[Any]) -> Receiver:
    """Return a receiver that ignores the keys: what is sent twice is stored twice."""

    def receive(_path: str, body: bytes) -> tuple[int, bytes]:
        entries = read_entries(body)
        database.execute(INSERT, [ids_of(entries)])
        answers = [accepted(entry["idempotency_key"]) for entry in entries]
        document = json.dumps({"items": answers})
        return 200, document.encode()

    return receive


def accepted(idempotency_key: str | None) -> dict[str, Any]:
    """Return the answer for one entry."""
    return {"idempotency_key": idempotency_key, "status": 201, "body": {}}


def read_entries(body: bytes) -> list[dict[str, Any]]:
    """Return the entries of one request, which may be a single one without a key."""
    document = json.loads(body)
    if "items" in document:
        return list(document["items"])
    return [{"idempotency_key": None, "body": document}]


def ids_of(entries: list[dict[str, Any]]) -> list[str]:
    """Return the message id of each entry."""
    return [entry["body"]["message_id"] for entry in entries]


def lose_answers(receiver: Receiver, plan: FaultPlan) -> Callable[[Request, bytes], None]:
    """Return a handler that hangs up without an answer where the plan says so."""

    def handle(request: Request, body: bytes) -> None:
        status, content = receiver(request.path, body)
        message_ids = ids_of(read_entries(body))
        if plan.take("answer", message_ids):
            request.close_connection = True
        else:
            request.answer(status, content)

    return handle
