"""Errors as RFC 9457 wants them: application/problem+json, and nothing of the request in it."""

from http import HTTPStatus
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse


class ProblemError(Exception):
    """An answer that is an error, with the words for whoever sent the request."""

    def __init__(self, status: int, detail: str, retry_after: int | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.retry_after = retry_after

    def document(self) -> dict[str, Any]:
        """The problem as a JSON object."""
        title = HTTPStatus(self.status).phrase
        return {"type": "about:blank", "title": title, "status": self.status, "detail": str(self)}


async def answer_problem(_request: Request, problem: Exception) -> JSONResponse:
    """The handler that Starlette calls for a ProblemError."""
    assert isinstance(problem, ProblemError)  # noqa: S101 - registered for this class only
    headers = {"Retry-After": str(problem.retry_after)} if problem.retry_after else None
    return JSONResponse(problem.document(), problem.status, headers, "application/problem+json")
