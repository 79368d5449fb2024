"""A server before the audit receiver that fails in one way, this many times, before it obeys."""

import json

from ops.fault_proxy import Request, forward


class FailingReceiver:
    """Passes POSTs on to the real receiver, except the first few."""

    def __init__(self, real_url: str, fault: str, times: int) -> None:
        self.forward = forward(real_url)
        self.fault = fault
        self.times = times
        self.failed = 0
        self.held = ""  # the key of the entry that alone is not taken

    def mend(self) -> None:
        """Obey from now on."""
        self.times = 0

    def handle(self, request: Request, body: bytes) -> None:
        """Fail as often as asked, then pass the request on."""
        if self.failed < self.times:
            self.failed += 1
            self.fail(request, body)
        else:
            status, content = self.forward(request.path, body)
            request.answer(status, content)

    def fail(self, request: Request, body: bytes) -> None:
        """Answer as the fault demands."""
        if self.fault == "429":
            request.answer(429, b"{}", Retry_After="1")
        elif self.fault == "redirect":
            request.answer(307, b"", Location="http://127.0.0.1:1/elsewhere")
        elif self.fault == "lost answer":
            self.forward(request.path, body)  # it takes effect, and the client does not hear of it
            request.connection.close()
            request.close_connection = True
        elif self.fault == "garbage":
            self.forward(request.path, body)
            request.answer(200, b"<html>all fine</html>")
        elif self.fault == "endless":
            answer_without_end(request)
        elif self.fault == "refuse one":
            self.refuse_one(request, body)
        elif self.fault.startswith("hold one "):
            status = int(self.fault.removeprefix("hold one "))
            self.hold_one(request, body, status)
        else:
            request.answer(int(self.fault), b"{}")

    def refuse_one(self, request: Request, body: bytes) -> None:
        """Report the first entry as refused."""
        status, content = self.forward(request.path, body)
        answer = json.loads(content)
        detail = "Idempotency-Key: already used with another body"
        answer["items"][0] |= {"status": 422, "body": {"detail": detail}}
        request.answer(status, json.dumps(answer).encode())

    def hold_one(self, request: Request, body: bytes, status: int) -> None:
        """Answer like this for one entry, always the same, and take the others."""
        items = json.loads(body)["items"]
        self.held = self.held or items[0]["idempotency_key"]
        others = [item for item in items if item["idempotency_key"] != self.held]
        answers = []
        if others:
            _, content = self.forward(request.path, json.dumps({"items": others}).encode())
            answers = json.loads(content)["items"]
        if len(others) < len(items):
            answers.append({"idempotency_key": self.held, "status": status, "body": {}})
        request.answer(200, json.dumps({"items": answers}).encode())


def answer_without_end(request: Request) -> None:
    """Promise a body that is larger than any memory, and begin it."""
    request.send_response(200)
    request.send_header("Content-Length", str(10**12))
    request.end_headers()
    request.wfile.write(b"[" * 100_000)
    request.close_connection = True
