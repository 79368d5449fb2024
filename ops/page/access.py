"""Who may ask the page, and who may act: names, origins, the token, sessions, and headers.

Whoever can reach the port may look. Acting needs the token, which is typed once and never shown; a
cookie that no script can read stands for it until it ends, or until the token is another one.
"""

import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ops.stack.supervisor import StackError

NO_FILE = Path()
LEAST_TOKEN = 16  # characters
SESSION_SECONDS = 8 * 3600.0
MOST_SESSIONS = 100
ALWAYS_ALLOWED = ("localhost", "127.0.0.1", "::1")
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self';"
        " connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    # Not no-referrer: with it, browsers hide the origin of a form that is sent.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Token(NamedTuple):
    """The token in its file, read each time, so that it can be changed."""

    file: Path

    @property
    def is_there(self) -> bool:
        """Return whether anybody may act at all."""
        return self.file != NO_FILE

    def read(self) -> str:
        """Return the token of now."""
        try:
            first, *_ = [*self.file.read_text().splitlines(), ""]
        except OSError as failure:
            raise StackError(f"PAGE_TOKEN_FILE={self.file}: {failure.strerror}") from None
        token = first.strip()
        if len(token) < LEAST_TOKEN:
            raise StackError(
                f"PAGE_TOKEN_FILE={self.file}: its first line has fewer than {LEAST_TOKEN}"
                " characters: let a program make it (openssl rand -hex 24)"
            )
        return token

    def refuse_if_unfit(self) -> None:
        """Raise an error that names the setting if there is a file, and no good token in it."""
        if self.is_there:
            self.read()

    def is_right(self, typed: str) -> bool:
        """Return whether this is the token, in a time that says nothing of it."""
        return is_same(typed, self.read())


def is_same(given: str, right: str) -> bool:
    """Compare two secrets, in a time that says nothing of them."""
    return hmac.compare_digest(given.encode(), right.encode())


@dataclass
class Session:
    """One who has typed the token."""

    csrf: str
    token_digest: bytes  # of the token that was typed: another one ends the session
    ends_at: float
    by: str = ""  # the name that was given for the latest act


@dataclass
class Sessions:
    """Those who may act now."""

    token: Token
    clock: Callable[[], float] = time.monotonic
    known: dict[str, Session] = field(default_factory=dict)

    def begin(self) -> str:
        """Return the secret of a new session."""
        if len(self.known) >= MOST_SESSIONS:
            self.known.pop(next(iter(self.known)))
        name = secrets.token_urlsafe(32)
        ends_at = self.clock() + SESSION_SECONDS
        self.known[name] = Session(secrets.token_urlsafe(32), self.digest(), ends_at)
        return name

    def find(self, name: str | None) -> Session | None:
        """Return the session of this secret, while it and its token are good."""
        session = self.known.get(name or "")
        if session is None:
            return None
        if session.ends_at < self.clock() or not self.is_of_this_token(session):
            self.end(name)
            return None
        return session

    def is_of_this_token(self, session: Session) -> bool:
        """Return whether the token is the one that was typed; one that cannot be read is not."""
        try:
            return hmac.compare_digest(session.token_digest, self.digest())
        except StackError:
            return False

    def end(self, name: str | None) -> None:
        """Forget a session."""
        self.known.pop(name or "", None)

    def digest(self) -> bytes:
        """Return what tells the token of now from another."""
        return sha256(self.token.read().encode()).digest()


def host_name(host: str) -> str:
    """Return the name in a Host header or an origin, without its port."""
    return urlsplit(f"//{host}").hostname or ""


def is_own_origin(request: Request) -> bool:
    """Return whether a form was sent from this page itself."""
    origin = request.headers.get("origin")
    if origin is None:
        return request.headers.get("sec-fetch-site") == "same-origin"
    return origin == f"{request.url.scheme}://{request.headers.get('host', '')}"


def guard_names(app: ASGIApp, allowed: frozenset[str]) -> ASGIApp:
    """Refuse to be asked by another name: a foreign name that leads here is an attack."""

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        try:
            name = host_name(Headers(scope=scope).get("host", ""))
        except ValueError:
            name = ""
        if name in allowed:
            await app(scope, receive, send)
            return
        refusal = PlainTextResponse(
            "this page is not known by this name: ask for localhost, or add the name to"
            " PAGE_ALLOWED_HOSTS\n",
            421,
        )
        await refusal(scope, receive, send)

    return guarded


def add_headers(app: ASGIApp) -> ASGIApp:
    """Add to every answer what browsers are to forbid."""

    async def with_headers(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await app(scope, receive, send_with_headers)

    return with_headers
