"""The audit receiver's HTTP side: what is read, within which bounds, and what is answered."""

import asyncio
import json
from typing import Any

from sqlalchemy import Engine
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from service.audit.entry import KEY_HEADER, Answer, Entry, check, problem
from service.audit.settings import Settings
from service.audit.store import record
from service.database import is_reachable
from service.outage import OutageError, RefusedError

LOCK_NOT_AVAILABLE = "55P03"
JSON = "application/json"
PROBLEM_JSON = "application/problem+json"


def create_app(settings: Settings, engine: Engine) -> Starlette:
    """Return the application, with everything it needs handed in."""

    async def post_entry(request: Request) -> Response:
        header = ", ".join(request.headers.getlist("Idempotency-Key"))
        key = KEY_HEADER.fullmatch(header)
        if key is None:
            raise HTTPException(
                400, 'Idempotency-Key: should be one string in quotes, like "8e03978e-40d5"'
            )
        body = await read_json(request, settings)
        [(status, document)] = await run_in_threadpool(answer, engine, [(key[1], body)])
        return respond(status, document)

    async def post_batch(request: Request) -> Response:
        items = check_items(await read_json(request, settings), settings.audit_batch_items)
        pairs = [(item.get("idempotency_key"), item.get("body")) for item in items]
        answers = await run_in_threadpool(answer, engine, pairs)
        answered = [
            {"idempotency_key": key, "status": status, "body": document}
            for (key, _), (status, document) in zip(pairs, answers, strict=True)
        ]
        return respond(200, {"items": answered})

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
    return Starlette(routes=routes, exception_handlers={HTTPException: respond_problem})


def check_items(body: Any, limit: int) -> list[dict[str, Any]]:
    """Return the items of a batch, or raise what is wrong with it as a whole."""
    items = body.get("items") if isinstance(body, dict) else None
    if not isinstance(items, list) or not items:
        raise HTTPException(400, "items: should be a list with at least one object")
    if not all(isinstance(item, dict) for item in items):
        raise HTTPException(400, "items: should hold nothing but objects")
    if len(items) > limit:
        raise HTTPException(413, f"items: at most {limit} are allowed")
    return items


def answer(engine: Engine, pairs: list[tuple[Any, Any]]) -> list[Answer]:
    """Return an answer for each key and body; all are checked before any SQL."""
    checked = [check(key, body) for key, body in pairs]
    entries = [entry for entry in checked if isinstance(entry, Entry)]
    try:
        recorded = iter(record(engine, entries) if entries else [])
    except OutageError as outage:
        status, detail = 503, "the database does not answer"
        if outage.sqlstate == LOCK_NOT_AVAILABLE:
            status, detail = 409, "Idempotency-Key: its first request is still in progress"
        raise HTTPException(status, detail, {"Retry-After": "1"}) from outage
    except RefusedError as refusal:
        raise HTTPException(400, str(refusal)) from refusal
    return [next(recorded) if isinstance(entry, Entry) else entry for entry in checked]


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
        raise HTTPException(400, f"body: not JSON ({type(error).__name__})") from error


def respond(
    status: int, document: dict[str, Any], headers: dict[str, str] | None = None
) -> Response:
    """Return a document as JSON, and an error as a problem."""
    content_type = JSON if status < 400 else PROBLEM_JSON
    return JSONResponse(document, status, headers, content_type)


def respond_problem(_request: Request, error: Exception) -> Response:
    """Return what Starlette asks for when an HTTPException is raised, by us or by itself."""
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for this class only
    status, document = problem(error.status_code, error.detail)
    return respond(status, document, dict(error.headers or {}))
