"""What a caller may ask for before its body is read: so much in headers, and so often."""

import time
from collections.abc import Callable

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from service.audit.entry import problem

EVERYBODY = ""  # where callers have no tokens, they share one bucket


def limit_headers(app: ASGIApp, limit: int) -> ASGIApp:
    """Return the application for requests with no more than this in their headers."""

    async def limited(scope: Scope, receive: Receive, send: Send) -> None:
        size = sum(len(name) + len(value) for name, value in scope.get("headers", []))
        if size <= limit:
            return await app(scope, receive, send)
        refused = refuse(431, f"headers: at most {limit} bytes are allowed", {})
        return await refused(scope, receive, send)

    return limited


def refuse(status: int, detail: str, headers: dict[str, str]) -> JSONResponse:
    """Return a refusal, after which the connection ends: what of the body is on its way stays."""
    status, document = problem(status, detail)
    with_close = {**headers, "Connection": "close"}
    return JSONResponse(document, status, with_close, "application/problem+json")


class Buckets:
    """What each caller has left: it fills steadily, and holds one second's worth."""

    def __init__(self, per_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.per_second = per_second
        self.largest = max(1.0, per_second)
        self.clock = clock
        self.left: dict[str, tuple[float, float]] = {}  # by caller: so many, at this time

    def take(self, caller: str) -> float:
        """Take one and return 0, or return in how many seconds there will be one."""
        now = self.clock()
        before, then = self.left.get(caller, (self.largest, now))
        has = min(self.largest, before + (now - then) * self.per_second)
        is_enough = has >= 1
        self.left[caller] = (has - 1 if is_enough else has, now)
        return 0.0 if is_enough else (1 - has) / self.per_second


def limit_rate(app: ASGIApp, buckets: Buckets) -> ASGIApp:
    """Return the application for callers who do not ask too often; it knows them already.

    A refusal says when to ask again, and comes before the body is read.
    """

    async def limited(scope: Scope, receive: Receive, send: Send) -> None:
        caller = scope.get("state", {}).get("caller") or EVERYBODY
        is_post = scope["type"] == "http" and scope["method"] == "POST"
        seconds = buckets.take(caller) if is_post else 0.0
        if not seconds:
            return await app(scope, receive, send)
        refused = refuse(429, "too many requests", {"Retry-After": str(int(seconds) + 1)})
        return await refused(scope, receive, send)

    return limited
