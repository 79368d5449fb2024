"""Who may call: each caller has a token, in a file that is read for each request."""

from collections.abc import Mapping
from hmac import compare_digest
from pathlib import Path
from typing import Any

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from service.audit.entry import problem
from service.logs import exit_with_error

OPEN = {"/livez", "/readyz"}  # they tell nothing that is anybody's
ASK = {"WWW-Authenticate": "Bearer", "Connection": "close"}


def require_token(app: ASGIApp, file: Path) -> ASGIApp:
    """Return the application for those who have a token; others are refused before their body.

    The name of the caller is in the request's state.
    """

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        is_open = scope["type"] != "http" or scope["path"] in OPEN
        if not is_open:
            caller = find_caller(file, scope)
            if caller is None:
                status, document = problem(401, "Authorization: should be Bearer, and a token")
                refused = JSONResponse(document, status, ASK, "application/problem+json")
                return await refused(scope, receive, send)
            scope.setdefault("state", {})["caller"] = caller
        return await app(scope, receive, send)

    return guarded


def find_caller(file: Path, scope: Mapping[str, Any]) -> str | None:
    """Return whose token a request has.

    It is compared with every token, to the end: how long that takes tells nobody how much of a
    guess was right.
    """
    given = b"".join(value for name, value in scope["headers"] if name == b"authorization")
    found = None
    for caller, token in read_tokens(file):
        if compare_digest(given, b"Bearer " + token.encode()):
            found = caller
    return found


def read_tokens(file: Path) -> list[tuple[str, str]]:
    """Return caller and token of each line. During a rotation a caller has two lines."""
    tokens = []
    for line in file.read_text().splitlines():
        words = line.split()
        if len(words) == 2:
            caller, token = words
            tokens.append((caller, token))
    return tokens


def refuse_without_tokens(file: Path) -> None:
    """End the process if nobody could call, or if the file has a line that means nothing."""
    setting = f"AUDIT_TOKENS_FILE={file}"
    try:
        lines = [line for line in file.read_text().splitlines() if line.strip()]
    except OSError as error:
        exit_with_error(f"{setting}: {error.strerror}")
    if not lines:
        exit_with_error(f"{setting}: is empty; write a line for each caller: NAME TOKEN")
    if len(read_tokens(file)) < len(lines):
        exit_with_error(f"{setting}: each line should be NAME TOKEN")
