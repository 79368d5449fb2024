"""A receiver that stands in front of the real one, and fails in one way, so many times, before it obeys."""

import json

from ops.fault_proxy import Request, forward


class Failing:
    """Passes POSTs on; the first few in its own way."""

    def __init__(self, real_url: str, fault: str, times: int) -> None:
        self.real, self.fault, self.times = forward(real_url), fault, times
        self.failed = 0

    def handle(self, request: Request, body: bytes) -> None:
        """Fail as often as asked, then obey."""
        if self.failed < self.times:
            self.failed += 1
            self.fail(request, body)
        else:
            request.answer(*self.real(request.path, body))

    def fail(self, request: Request, body: bytes) -> None:
        """Answer in the way of the fault."""
        if self.fault == "429":
            request.answer(429, b"{}", Retry_After="1")
        elif self.fault == "redirect":
            request.answer(307, b"", Location="http://127.0.0.1:1/elsewhere")
        elif self.fault == "lost answer":
            self.real(request.path, body)  # the effect has happened; nobody is told
            request.connection.close()
            request.close_connection = True
        elif self.fault == "garbage":
            self.real(request.path, body)
            request.answer(200, b"<html>all fine</html>")
        elif self.fault == "endless":
            request.send_response(200)
            request.send_header("Content-Length", str(10**12))
            request.end_headers()
            request.wfile.write(b"[" * 100_000)
            request.close_connection = True
        elif self.fault == "refuse one":
            status, raw = self.real(request.path, body)
            answer = json.loads(raw)
            detail = "Idempotency-Key: already used with another body"
            answer["items"][0] |= {"status": 422, "body": {"detail": detail}}
            request.answer(status, json.dumps(answer).encode())
        else:
            request.answer(int(self.fault), b"{}")
