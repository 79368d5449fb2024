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


def create_app(settings: Settings, engine: Engine) -> Starlette:
    """The application, with everything it needs handed in."""

    async def post_entry(request: Request) -> Response:
        key = KEY_HEADER.fullmatch(", ".join(request.headers.getlist("Idempotency-Key")))
        if key is None:
            raise HTTPException(
                400, 'Idempotency-Key: should be one string in quotes, like "8e03978e-40d5"'
            )
        body = await read(request, settings)
        [(status, document)] = await run_in_threadpool(answer, engine, [(key[1], body)])
        return respond(status, document)

    async def post_batch(request: Request) -> Response:
        body = await read(request, settings)
        items = body.get("items") if isinstance(body, dict) else None
        if (
            not isinstance(items, list)
            or not items
            or not all(isinstance(item, dict) for item in items)
        ):
            raise HTTPException(400, "items: should be a list with at least one object")
        if len(items) > settings.audit_batch_items:
            raise HTTPException(413, f"items: at most {settings.audit_batch_items} are allowed")
        given = [(item.get("idempotency_key"), item.get("body")) for item in items]
        pairs = zip(given, await run_in_threadpool(answer, engine, given), strict=True)
        return respond(
            200,
            {"items": [{"idempotency_key": k, "status": s, "body": b} for (k, _), (s, b) in pairs]},
        )

    async def readyz(_request: Request) -> Response:
        ready = await run_in_threadpool(is_reachable, engine)
        return PlainTextResponse(
            "ok\n" if ready else "the database does not answer\n", 200 if ready else 503
        )

    routes = [
        Route("/audit-entries", post_entry, methods=["POST"]),
        Route("/audit-entries/batch", post_batch, methods=["POST"]),
        Route("/livez", lambda _: PlainTextResponse("ok\n")),
        Route("/readyz", readyz),
    ]
    return Starlette(routes=routes, exception_handlers={HTTPException: respond_problem})


def answer(engine: Engine, given: list[tuple[Any, Any]]) -> list[Answer]:
    """An answer for each key and body; all are checked before any SQL, and a bad one harms no other."""
    checked = [check(key, body) for key, body in given]
    entries = [entry for entry in checked if isinstance(entry, Entry)]
    try:
        recorded = iter(record(engine, entries) if entries else [])
    except OutageError as outage:
        in_work = outage.sqlstate == "55P03"  # lock_not_available
        why = (
            "Idempotency-Key: its first request is still in work"
            if in_work
            else "the database does not answer"
        )
        raise HTTPException(409 if in_work else 503, why, {"Retry-After": "1"}) from outage
    except RefusedError as refusal:
        raise HTTPException(400, str(refusal)) from refusal
    return [next(recorded) if isinstance(entry, Entry) else entry for entry in checked]


async def read(request: Request, settings: Settings) -> Any:
    """The JSON of the whole body, unless it is too large, too slow or none."""
    raw = bytearray()
    try:
        async with asyncio.timeout(settings.audit_body_seconds):
            async for chunk in request.stream():
                raw += chunk
                if len(raw) > settings.audit_body_bytes:
                    raise HTTPException(
                        413, f"body: at most {settings.audit_body_bytes} bytes are allowed"
                    )
        return json.loads(raw)
    except TimeoutError as error:
        raise HTTPException(408, "body: not complete in time") from error
    except (ClientDisconnect, ValueError, RecursionError) as error:
        raise HTTPException(400, f"body: not JSON ({type(error).__name__})") from error


def respond(
    status: int, document: dict[str, Any], headers: dict[str, str] | None = None
) -> Response:
    """Errors are problems, also when they are one item's answer."""
    return JSONResponse(
        document,
        status,
        headers,
        "application/json" if status < 400 else "application/problem+json",
    )


def respond_problem(_request: Request, error: Exception) -> Response:
    """What Starlette calls for an HTTPException, ours or its own."""
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for this class only
    return respond(*problem(error.status_code, error.detail), dict(error.headers or {}))
