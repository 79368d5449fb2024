"""A page before a board of answers that are made up, and a browser that asks it."""

import asyncio
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from starlette.types import ASGIApp, Message

from contract.names import AUDIT_DATABASE, DATABASE, INPUT_TOPIC, OTHER_OUTBOXES
from ops.guard.findings import Seen
from ops.guard.look import Look, Slot, Task
from ops.letters.acts import Act
from ops.page.access import Sessions, Token
from ops.page.acts import Desk, Plan
from ops.page.answers import Answers
from ops.page.app import Page, create_app
from ops.page.board import Board, outbox_topics
from ops.page.read import Landed, Rows, Took, Topics
from ops.page.view import View, view_now
from ops.progress import Note
from ops.trace.databases import Position
from ops.trace.lake import Run
from spark.hops import make_hops

NOW = 1_000.0
AT = datetime(2026, 11, 25, 10, tzinfo=UTC)
TOKEN = "0123456789abcdef-a-token"
HOST = "localhost:18088"
POSITION = f"{INPUT_TOPIC}/0/57"
HOSTILE = "\u202e<script>alert(1)</script>\x1b[2J'\"&"
TOPICS = [INPUT_TOPIC, *outbox_topics(), *OTHER_OUTBOXES]


class Answer(NamedTuple):
    """What a browser would get."""

    status: int
    headers: Mapping[str, str]
    text: str


def of_now(value: Any) -> Answers[Any]:
    """One who has answered just now."""
    return Answers(lambda: value, 1.0, latest=value, at=NOW, began=NOW)


def failing(failure: str = "it does not answer", latest: Any = None) -> Answers[Any]:
    """One who has answered a minute ago, and does not now."""
    return Answers(lambda: None, 1.0, latest=latest, at=NOW - 60, failure=failure, began=0)


def slot(outbox: str) -> Slot:
    """A slot that is read."""
    return Slot(
        outbox=outbox,
        exists=True,
        active=True,
        wal_status="reserved",
        written=1_000,
        confirmed=1_000,
        held=500,
        left=None,
        is_published=True,
    )


SLOTS = [slot(DATABASE), slot(AUDIT_DATABASE)]
ROW = {
    "topic": INPUT_TOPIC,
    "kind": "invalid",
    "reason": HOSTILE,
    "letters": 1_200,
    "first_at": AT,
    "last_at": AT,
    "latest": POSITION,
}
COUNTS = {
    "missing": 0,
    "duplicate": 0,
    "extra": 0,
    "different": 0,
    "late": 0,
    "matched": 5,
}
HELD = Topics(
    held=dict.fromkeys(TOPICS, 5_185),
    ends=dict.fromkeys(TOPICS, 5_185),
    paces=dict.fromkeys(TOPICS, 12.4),
    took=dict.fromkeys(TOPICS, Took(0.038, AT)),
    lag=0,
    waits=0.0,
)
ROWS = Rows(
    service={"tracking": 5_025, "outbox": 5_085},
    audit={"outbox": 5_025},
    handled=None,
    handled_at=None,
    audited=Took(0.012, AT),
    unaudited=0,
    unaudited_for=0.0,
    refused=0,
)


GOOD_RUN = Run(
    "20261125T100000.000000Z",
    True,
    "verdict: nothing lost, nothing doubled",
    [{"hop": hop.name, **COUNTS} for hop in make_hops(INPUT_TOPIC)],
)


def board(**changed: Any) -> Board:
    """A board on which all is well, but for what is changed."""
    seen = Seen()
    seen.see(Look(NOW, None, SLOTS, None, None))
    well = Board(
        tasks=of_now([Task("a-connector", 0, "RUNNING", "")]),
        slots=of_now(SLOTS),
        topics=of_now(HELD),
        rows=of_now(ROWS),
        bursts=of_now([]),
        letters=of_now([]),
        landing=of_now(Landed(5_185, 0, 0.0)),
        runs=of_now([GOOD_RUN]),
        processes=of_now([{"name": "service", "ready": True, "missing": "", "pid": 1}]),
        seen=seen,
    )
    return replace(well, **changed)


def nothing_done(_plan: Plan, _act: Act, _note: Note) -> tuple[Sequence[str], bool]:
    """Do an act that does nothing."""
    return ["1  done"], True


def view(found: Board, desk: Desk | None = None) -> View:
    """What the page would say of a board."""
    return view_now(found, desk or Desk(nothing_done), INPUT_TOPIC, NOW, landing_stays=True)


def wait_for(is_so: Callable[[], bool], what: str) -> None:
    """Wait until this is so."""
    deadline = time.monotonic() + 10
    while not is_so():
        assert time.monotonic() < deadline, what
        threading.Event().wait(0.01)


PLAN = Plan("replay", "invalid: something", [Position(INPUT_TOPIC, 0, 57)], "group=g")


async def exchange(
    app: ASGIApp, path: str, headers: Mapping[str, str], form: Mapping[str, str] | None
) -> Answer:
    """Return what the application answers."""
    target, _, query = path.partition("?")
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "GET" if form is None else "POST",
        "scheme": "http",
        "path": target,
        "raw_path": target.encode(),
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "server": ("localhost", 18088),
        "client": ("127.0.0.1", 1),
        "root_path": "",
    }
    received = [{"type": "http.request", "body": urlencode(form or {}).encode()}]
    sent: list[Message] = []

    async def receive() -> Message:
        return received.pop(0) if received else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope, receive, send)
    start, *rest = sent
    found = {name.decode().lower(): value.decode() for name, value in start["headers"]}
    body = b"".join(message.get("body", b"") for message in rest)
    return Answer(start["status"], found, body.decode())


class Browser:
    """Asks the page, and keeps its cookie."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.app: ASGIApp = create_app(page)
        self.cookie = ""

    def ask(
        self, path: str, form: Mapping[str, str] | None = None, **changed: str | None
    ) -> Answer:
        """Ask for a path, or send a form; a header that is None is left out."""
        headers: dict[str, str | None] = {
            "host": HOST,
            "origin": f"http://{HOST}" if form is not None else None,
            "cookie": self.cookie or None,
            **changed,
        }
        sent = {name: value for name, value in headers.items() if value is not None}
        answer = asyncio.run(exchange(self.app, path, sent, form))
        if found := re.match(r"(page-\d+=[^;]*)", answer.headers.get("set-cookie", "")):
            self.cookie = found[1]
        return answer

    def sign_in(self) -> str:
        """Type the token; return what the forms of the session carry."""
        assert self.ask("/sign-in", {"token": TOKEN}).status == 303
        [session] = self.page.sessions.known.values()
        return session.csrf


def browser(token: Path = Path(), **changed: Any) -> Browser:
    """A browser before a page on which all is well, with a hostile letter."""
    desk = Desk(nothing_done)
    letters = board(letters=of_now([ROW]))
    page = Page(
        env={"DELTA_ROOT": "/nowhere"},
        view=lambda: view(letters, desk),
        desk=desk,
        sessions=Sessions(Token(token)),
        cookie="page-18088",
        plan=lambda _env, kind, group, _position: PLAN._replace(kind=kind, where=f"group={group}"),
    )
    return Browser(replace(page, **changed))
