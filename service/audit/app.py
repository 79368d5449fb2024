"""The audit receiver's HTTP side: what is read, within which bounds, and what is answered."""

import asyncio
from typing import Any

from sqlalchemy import Engine
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from service.audit.body import Item, document_of, item_of, key_of
from service.audit.problem import ProblemError, answer_problem
from service.audit.settings import Settings
from service.audit.store import Answer, record
from service.database import is_reachable
from service.outage import OutageError, RefusedError

LOCK_NOT_AVAILABLE = "55P03"


def create_app(settings: Settings, engine: Engine) -> Starlette:
    """The application, with everything it needs handed in."""

    async def post_entry(request: Request) -> Response:
        key = key_of(request.headers.getlist("Idempotency-Key"))
        raw = await read_body(request, settings)
        status, document = await run_in_threadpool(one, engine, key, raw)
        return JSONResponse(document, status, media_type=media_type(status))

    async def post_batch(request: Request) -> Response:
        raw = await read_body(request, settings)
        return JSONResponse(await run_in_threadpool(many, engine, raw, settings.audit_batch_items))

    async def livez(_request: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def readyz(_request: Request) -> Response:
        if await run_in_threadpool(is_reachable, engine):
            return PlainTextResponse("ok\n")
        return PlainTextResponse("the database does not answer\n", 503)

    routes = [
        Route("/audit-entries", post_entry, methods=["POST"]),
        Route("/audit-entries/batch", post_batch, methods=["POST"]),
        Route("/livez", livez),
        Route("/readyz", readyz),
    ]
    return Starlette(routes=routes, exception_handlers={ProblemError: answer_problem})


def one(engine: Engine, key: str, raw: bytes) -> Answer:
    """One entry, its key in the header."""
    [answer] = recorded(engine, [item_of(key, document_of(raw))])
    return answer


def many(engine: Engine, raw: bytes, limit: int) -> dict[str, Any]:
    """Many entries, each with its own key and its own answer; all are checked before any SQL."""
    document = document_of(raw)
    given = document.get("items") if isinstance(document, dict) else None
    if not isinstance(given, list) or not given:
        raise ProblemError(400, "items: should be a list with at least one entry")
    if len(given) > limit:
        raise ProblemError(413, f"items: {len(given)} entries, at most {limit} are allowed")
    checked = [check(entry) for entry in given]
    good = [item for item in checked if isinstance(item, Item)]
    answers = iter(recorded(engine, good) if good else [])
    return {
        "items": [
            item_answer(entry, next(answers) if isinstance(item, Item) else (item.status, item.document()))
            for entry, item in zip(given, checked, strict=True)
        ]
    }


def check(entry: Any) -> Item | ProblemError:
    """The item, or the problem that is its answer; the others do not suffer for it."""
    try:
        fields = entry if isinstance(entry, dict) else {}
        return item_of(fields.get("idempotency_key"), fields.get("body"))
    except ProblemError as problem:
        return problem


def item_answer(entry: Any, answer: Answer) -> dict[str, Any]:
    """One line of a batch's answer."""
    key = entry.get("idempotency_key") if isinstance(entry, dict) else None
    return {"idempotency_key": key, "status": answer[0], "body": answer[1]}


def recorded(engine: Engine, items: list[Item]) -> list[Answer]:
    """The answers, or the problem that stands for all of them."""
    try:
        return record(engine, items)
    except OutageError as outage:
        if outage.sqlstate == LOCK_NOT_AVAILABLE:
            raise ProblemError(409, "Idempotency-Key: its first request is still in work", 1) from outage
        raise ProblemError(503, "the database does not answer", 1) from outage
    except RefusedError as refusal:
        raise ProblemError(400, str(refusal)) from refusal


async def read_body(request: Request, settings: Settings) -> bytes:
    """The whole body, unless it is too large or too slow."""
    too_large = ProblemError(413, f"body: at most {settings.audit_body_bytes} bytes are allowed")
    if int(request.headers.get("Content-Length") or 0) > settings.audit_body_bytes:
        raise too_large
    raw = bytearray()
    try:
        async with asyncio.timeout(settings.audit_body_seconds):
            async for chunk in request.stream():
                raw += chunk
                if len(raw) > settings.audit_body_bytes:
                    raise too_large
    except TimeoutError:
        raise ProblemError(408, "body: not complete in time") from None
    except ClientDisconnect:
        raise ProblemError(400, "body: cut off") from None
    return bytes(raw)


def media_type(status: int) -> str:
    """Errors are problems, also when they are one item's answer."""
    return "application/json" if status < 400 else "application/problem+json"
