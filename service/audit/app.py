"""The audit receiver's HTTP side: what is read, within which bounds, and what is answered."""

import asyncio
import json
import time
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import Engine
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from access.audit import NO_FILE
from contract.trace import PARENT_HEADER, STATE_HEADER, Trace, read_trace
from service.audit.callers import require_token
from service.audit.entry import KEY_HEADER, Answer, Entry, check, problem
from service.audit.limits import Buckets, limit_headers, limit_rate
from service.audit.settings import Settings
from service.audit.spans import Spans
from service.audit.store import Note, record
from service.database import DATA, is_reachable
from service.outage import OutageError, RefusedError

LOCK_NOT_AVAILABLE = "55P03"

JSON = "application/json"
PROBLEM_JSON = "application/problem+json"


class Item(NamedTuple):
    """What was sent about one entry."""

    key: Any  # neither it nor the body is checked yet
    body: Any
    trace: Trace | None


def create_app(settings: Settings, engine: Engine, spans: Spans) -> ASGIApp:
    """Return the application, with everything it needs handed in."""
    answer_items = partial(answer, engine, spans)

    async def post_entry(request: Request) -> Response:
        key = read_key(request)
        body = await read_json(request, settings)
        headers = request.headers
        trace = read_trace(headers.getlist(PARENT_HEADER), headers.getlist(STATE_HEADER))
        item = Item(key, body, trace)
        [answered] = await run_in_threadpool(answer_items, caller_of(request), [item])
        return respond(answered)

    async def post_batch(request: Request) -> Response:
        body = await read_json(request, settings)
        items = read_items(body, settings.audit_batch_items)
        answers = await run_in_threadpool(answer_items, caller_of(request), items)
        answered_items = []
        for item, answered in zip(items, answers, strict=True):
            answered_item = {"idempotency_key": item.key, **answered._asdict()}
            answered_items.append(answered_item)
        return JSONResponse({"items": answered_items})

    async def readyz(_request: Request) -> Response:
        if await run_in_threadpool(is_reachable, engine):
            return PlainTextResponse("ok\n")
        return PlainTextResponse("the database does not answer\n", 503)

    def livez(_request: Request) -> Response:
        return PlainTextResponse("ok\n")

    routes = [
        Route("/audit-entries", post_entry, methods=["POST"]),
        Route("/audit-entries/batch", post_batch, methods=["POST"]),
        Route("/livez", livez),
        Route("/readyz", readyz),
    ]
    app: ASGIApp = Starlette(routes=routes, exception_handlers={HTTPException: respond_problem})
    if settings.audit_requests_per_second:
        app = limit_rate(app, Buckets(settings.audit_requests_per_second))
    is_open = settings.audit_tokens_file == NO_FILE
    if not is_open:
        app = require_token(app, settings.audit_tokens_file)
    return limit_headers(app, settings.audit_header_bytes)


def caller_of(request: Request) -> str | None:
    """Return who calls, if callers have tokens."""
    caller: str | None = getattr(request.state, "caller", None)
    return caller


def read_key(request: Request) -> str:
    """Return the key in the header, or raise what is wrong with it."""
    headers = request.headers.getlist("Idempotency-Key")
    key = KEY_HEADER.fullmatch(", ".join(headers))
    if key is None:
        raise HTTPException(
            400, 'Idempotency-Key: should be one string in quotes, like "8e03978e-40d5"'
        )
    return key[1]


def read_items(body: Any, limit: int) -> list[Item]:
    """Return what the batch says of each entry, or raise what is wrong with it."""
    is_object = isinstance(body, dict)
    sent = body.get("items") if is_object else None
    if not sent or not isinstance(sent, list):
        raise HTTPException(400, "items: should be a list with at least one object")
    if len(sent) > limit:
        raise HTTPException(413, f"items: at most {limit} are allowed")
    items = []
    for one in sent:
        if not isinstance(one, dict):
            raise HTTPException(400, "items: should hold nothing but objects")
        trace = read_trace(texts(one, PARENT_HEADER), texts(one, STATE_HEADER))
        items.append(Item(one.get("idempotency_key"), one.get("body"), trace))
    return items


def texts(one: Mapping[str, Any], name: str) -> list[str]:
    """Return what an object has under a name as headers would have it: once, if it is a text."""
    value = one.get(name)
    return [value] if isinstance(value, str) else []


def answer(engine: Engine, spans: Spans, caller: str | None, items: list[Item]) -> list[Answer]:
    """Return an answer for each key and body; all are checked before any SQL."""
    begun = time.time_ns()
    checked = [check(*item) for item in items]
    entries = spans.enter(entry for entry in checked if isinstance(entry, Entry))
    note = partial(spans.report, begun=begun)
    recorded = iter(record_entries(engine, caller, entries, note))
    answers = []
    for found in checked:
        answered = next(recorded) if isinstance(found, Entry) else found
        answers.append(answered)
    return answers


def record_entries(
    engine: Engine, caller: str | None, entries: list[Entry], note: Note
) -> list[Answer]:
    """Record what passed the check; what the database says instead is an answer to all."""
    if not entries:
        return []
    try:
        return record(engine, caller, entries, note)
    except OutageError as outage:
        status, detail = 503, "the database does not answer"
        if outage.sqlstate == LOCK_NOT_AVAILABLE:
            status, detail = 409, "Idempotency-Key: its first request is still in progress"
        raise HTTPException(status, detail, {"Retry-After": "1"}) from outage
    except RefusedError as refusal:
        reason = str(refusal)
        is_of_data = refusal.code.startswith(DATA)
        if not is_of_data:  # nothing in the request could be to blame
            raise HTTPException(503, reason, {"Retry-After": "1"}) from refusal
        raise HTTPException(400, reason) from refusal


async def read_json(request: Request, settings: Settings) -> Any:
    """Return the JSON of the whole body, unless it is too large, too slow or not JSON."""
    raw = bytearray()
    limit = settings.audit_body_bytes
    try:
        async with asyncio.timeout(settings.audit_body_seconds):
            async for chunk in request.stream():
                raw += chunk
                if len(raw) > limit:
                    raise HTTPException(413, f"body: at most {limit} bytes are allowed")
        return json.loads(raw)
    except TimeoutError as error:
        raise HTTPException(408, "body: not complete in time") from error
    except (ClientDisconnect, ValueError, RecursionError) as error:
        what = type(error).__name__
        raise HTTPException(400, f"body: not JSON ({what})") from error


def respond(answered: Answer, headers: Mapping[str, str] | None = None) -> Response:
    """Return a document as JSON, and an error as a problem."""
    status, document = answered
    is_error = status >= 400
    content_type = PROBLEM_JSON if is_error else JSON
    return JSONResponse(document, status, headers, content_type)


def respond_problem(_request: Request, error: Exception) -> Response:
    """Return what Starlette asks for when an HTTPException is raised, by us or by itself."""
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for this class only
    answered = problem(error.status_code, error.detail)
    return respond(answered, error.headers)
