"""Stands before a receiver: every POST takes effect, and some of the answers get lost."""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

import psycopg
import requests

from ops.ladder.strikes import Strikes
from ops.settings import HOST

Target = Callable[[str, bytes], tuple[int, bytes]]  # path and body of a request -> status and body of its answer


def book(database: psycopg.Connection[Any]) -> Target:
    """A receiver that books whatever it is told, as often as it is told, whatever the key."""

    def receive(_path: str, body: bytes) -> tuple[int, bytes]:
        items = entries(body)
        told = [item["body"]["message_id"] for item in items]
        database.execute("insert into ladder.audit_entry select unnest(%s::text[])", [told])
        answers = [{"idempotency_key": item["idempotency_key"], "status": 201, "body": {}} for item in items]
        return 200, json.dumps({"items": answers}).encode()

    return receive


def forward(url: str) -> Target:
    """The audit receiver of this template, which is somewhere else."""
    http = requests.Session()

    def pass_on(path: str, body: bytes) -> tuple[int, bytes]:
        answer = http.post(url + path, body, headers={"Content-Type": "application/json"}, timeout=30)
        return answer.status_code, answer.content

    return pass_on


def entries(body: bytes) -> list[dict[str, Any]]:
    """The entries of one request, which may be a single one without a key."""
    document = json.loads(body)
    items: list[dict[str, Any]] = document.get("items") or [{"idempotency_key": None, "body": document}]
    return items


class Front:
    """Listens on a port of its own for the time of a block."""

    def __init__(self, target: Target, strikes: Strikes) -> None:
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # head and body of an answer are two writes

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status, content = target(self.path, body)
                if strikes.take("answer", [item["body"]["message_id"] for item in entries(body)]):
                    self.close_connection = True  # the effect has happened, and nobody is told
                    return
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer((HOST, 0), Handler)
        self.url = f"http://{HOST}:{self.server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.server.shutdown()
        self.server.server_close()
