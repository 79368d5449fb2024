"""What the page says, to whom, and what it lets nobody do: without a stack or a browser."""

import asyncio
import json
import re
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import pytest
from starlette.types import ASGIApp, Message

from contract.names import AUDIT_DATABASE, DATABASE, INPUT_TOPIC, OTHER_OUTBOXES
from contract.samples import INVALID
from ops.guard.findings import LATE_SECONDS, Seen
from ops.guard.look import Look, Slot, Task
from ops.letters.acts import Act
from ops.letters.command import Letter
from ops.page import app as app_module
from ops.page.access import HEADERS, SESSION_SECONDS, Sessions, Token
from ops.page.acts import Desk, Doing, Plan, group_of
from ops.page.answers import LATE_SECONDS as ANSWER_SECONDS
from ops.page.answers import Answers
from ops.page.app import Page, create_app
from ops.page.board import Board, outbox_topics
from ops.page.pace import MOST_MARKS, Pace, Waits
from ops.page.read import Landed, Rows, Took, Topics
from ops.page.view import View, view_now
from ops.progress import Note
from ops.stack.supervisor import StackError
from ops.trace.databases import Position
from ops.trace.hops import MISSING, Hop, Trace
from ops.trace.lake import Run
from spark.hops import OUTBOX_TO, TOPICS_TO_LANDED, make_hops

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


def sentences(found: Board) -> dict[str, str]:
    """What is not well, with the next command."""
    return {finding.sentence: finding.way_out for finding in view(found).findings}


# --- what it says


def test_where_all_is_well_it_says_so() -> None:
    """No finding, and each hop of the picture is good."""
    found = view(board())
    assert found.is_well
    assert {hop.state for hop in found.path.hops} == {"good"}


def test_how_long_the_latest_took_is_on_its_line_while_it_is_fresh() -> None:
    """Control: one of long ago is in the list alone, with its age."""
    for at, label in ((datetime.now(UTC), "✓ 38 ms"), (AT, "✓ 12/s")):
        took = dict.fromkeys(TOPICS, Took(0.038, at))
        path = view(board(topics=of_now(HELD._replace(took=took)))).path
        [published] = [hop for hop in path.hops if hop.name == f"{OUTBOX_TO}{outbox_topics()[0]}"]
        assert published.label == label
        assert published.flow.took.startswith("38 ms")
    assert published.flow.took.endswith(" ago")


def test_a_box_says_how_much_is_in_it() -> None:
    """Exactly on a topic, about in a table; nothing while that cannot be asked."""
    places = {box.title: box.place for box in view(board()).path.boxes}
    assert places[INPUT_TOPIC] == "Kafka · 5,185"
    assert places["tracking"] == "Postgres · ~5.0k"
    away = view(board(topics=failing(), rows=failing())).path
    places = {box.title: box.place for box in away.boxes}
    assert (places[INPUT_TOPIC], places["tracking"]) == ("Kafka", "Postgres")


@pytest.mark.parametrize("part", ["tasks", "slots", "topics"])
@pytest.mark.parametrize("pid", [None, 4711])
def test_a_part_that_is_away_is_said_once_with_the_next_command(part: str, pid: int | None) -> None:
    """Since when, and what to do: start it, or read its log if its process is there."""
    name = {"tasks": "Connect", "slots": "Postgres", "topics": "Kafka"}[part]
    process = {"name": name.lower(), "ready": False, "missing": "x", "pid": pid, "log": "its.log"}
    found = sentences(board(**{part: failing()}, processes=of_now([process])))
    way_out = "read its.log" if pid else "pipeline up starts what is missing"
    assert found == {f"{name} does not answer for 60 s": way_out}


def test_where_parts_run_elsewhere_the_way_out_is_their_log() -> None:
    """There is no process of ours to start."""
    found = sentences(board(tasks=failing(), processes=of_now([])))
    assert found == {"Connect does not answer for 60 s": "start it, or read the log of Connect"}


def test_what_is_not_known_of_a_hop_is_drawn_as_unknown() -> None:
    """Control: with the broker back, none is."""
    states = [hop.state for hop in view(board(topics=failing())).path.hops]
    assert "unknown" in states
    assert "unknown" not in [hop.state for hop in view(board()).path.hops]


@pytest.mark.parametrize(
    ("changed", "begins", "way_out"),
    [
        (
            {"topics": of_now(HELD._replace(lag=7, waits=LATE_SECONDS + 15))},
            "7 records wait to be handled, the oldest for 75 s",
            "read /readyz of the service",
        ),
        (
            {"rows": of_now(ROWS._replace(unaudited=3, unaudited_for=LATE_SECONDS + 15))},
            "3 messages wait for the audit receiver, the oldest for 75 s",
            "read /readyz of the service",
        ),
        (
            {"landing": of_now(Landed(1, 9, 300))},
            "9 records wait to land, the oldest for 5 min",
            "read the log of the landing",
        ),
        (
            {"runs": of_now([GOOD_RUN._replace(ok=False, verdict="verdict: 3 missing")])},
            "the last reconciliation says: 3 missing",
            "pipeline repair says what can be done",
        ),
        (
            {
                "processes": of_now(
                    [{"name": "audit", "ready": False, "missing": "not running", "pid": None}]
                )
            },
            "audit: not running",
            "pipeline up starts what is missing",
        ),
        (
            {"tasks": of_now([Task("a-connector", 0, "FAILED", "no such slot")])},
            "task 0 of connector a-connector has failed: no such slot",
            "pipeline guard restarts it; read the log of Connect",
        ),
    ],
)
def test_what_is_not_well_is_a_sentence_with_the_next_command(
    changed: dict[str, Answers[Any]], begins: str, way_out: str
) -> None:
    """Each by itself: nothing else is said."""
    assert sentences(board(**changed)) == {begins: way_out}


def test_a_defect_of_the_last_reconciliation_is_drawn_where_it_is() -> None:
    """The line of that hop is bad, and says what was found; the others are as they were."""
    hops = [{**row, "missing": 3 * (row["hop"] == TOPICS_TO_LANDED)} for row in GOOD_RUN.hops]
    run = GOOD_RUN._replace(ok=False, hops=hops)
    bad = [hop for hop in view(board(runs=of_now([run]))).path.hops if hop.state == "bad"]
    assert [(hop.name, hop.label) for hop in bad] == [(TOPICS_TO_LANDED, "✗ 3 missing")]


def test_before_anybody_has_answered_nothing_is_called_well_or_wrong() -> None:
    """The page looks, and says so."""
    first: Callable[[], Answers[Any]] = lambda: Answers(lambda: None, 1.0, began=NOW)  # noqa: E731
    names = ["tasks", "slots", "topics", "rows", "bursts", "letters", "landing", "runs"]
    found = view(board(**{name: first() for name in names}))
    assert (found.is_well, list(found.findings)) == (False, [])


def test_a_part_that_hangs_holds_up_nobody() -> None:
    """Others answer meanwhile, the page is there at once, and after a while it names that part."""
    freed, stopping = threading.Event(), threading.Event()
    began = time.monotonic()

    def hang() -> list[Task]:
        freed.wait(30)
        return []

    found = board(tasks=Answers(hang, 0.01), slots=Answers(lambda: SLOTS, 0.01))
    found.start(stopping)
    try:
        wait_for(lambda: found.slots.at > 0, "the slots do not answer")
        shown = view_now(
            found, Desk(nothing_done), INPUT_TOPIC, time.monotonic(), landing_stays=False
        )
        assert shown.path.hops
        assert time.monotonic() - began < 2
        later = began + ANSWER_SECONDS + 1
        assert found.tasks.is_late(later)
        assert found.slots.latest == SLOTS
    finally:
        stopping.set()
        freed.set()


def test_what_was_known_is_shown_with_its_age_while_it_cannot_be_asked() -> None:
    """The letters of a minute ago are better than none."""
    found = view(board(letters=failing("Postgres is starting", [ROW])))
    assert found.letters == 1_200
    assert found.letters_note == "Postgres is starting; what is here is 60 s old"


def wait_for(is_so: Callable[[], bool], what: str) -> None:
    """Wait until this is so."""
    deadline = time.monotonic() + 10
    while not is_so():
        assert time.monotonic() < deadline, what
        threading.Event().wait(0.01)


# --- how long something waits


def test_what_waits_has_waited_since_it_was_seen_first() -> None:
    """Ten records at 0 s, five of them done at 3 s: the oldest of the others waits since 0 s."""
    waits = Waits()
    waits.see(0, 10, 0)
    waits.see(3, 20, 5)
    assert waits.seconds(4) == 4
    waits.see(5, 20, 10)
    assert waits.seconds(6) == 3
    waits.see(7, 20, 20)
    assert waits.seconds(8) == 0


def test_what_stands_still_for_a_day_takes_no_memory() -> None:
    """And how long it has stood is not forgotten."""
    waits = Waits()
    for at in range(3 * MOST_MARKS):
        waits.see(at, at + 1, 0)
    assert len(waits.marks) == MOST_MARKS
    assert waits.seconds(3 * MOST_MARKS) == 3 * MOST_MARKS


def test_a_pace_is_of_the_last_half_minute_and_begins_anew() -> None:
    """A topic that was created again has fewer records than before."""
    pace = Pace()
    assert pace.a_second() is None
    for at in range(100):
        pace.see(at, 10 * at)
    assert pace.a_second() == 10
    pace.see(100, 5)
    assert pace.a_second() is None


# --- who may do what


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    """A file with the token."""
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    return file


PLAN = Plan("replay", "invalid: something", [Position(INPUT_TOPIC, 0, 57)], "group=g")


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


@pytest.fixture
def signed_in(token_file: Path) -> tuple[Browser, dict[str, str]]:
    """A browser whose user has typed the token, and a form that is right."""
    asked = browser(token_file)
    csrf = asked.sign_in()
    form = {"csrf": csrf, "act": "replay", "group": "g", "proof": PLAN.proof}
    return asked, {**form, "why": "it was mended", "by": "somebody"}


def test_without_a_token_file_the_page_only_shows() -> None:
    """It says so, has no way to act, and takes no act and no token."""
    asked = browser()
    shown = asked.ask("/").text
    assert "read only" in shown
    assert "PAGE_TOKEN_FILE" in shown
    assert "/confirm" not in shown
    assert asked.ask("/sign-in", {"token": ""}).status == 403
    assert asked.ask("/acts", {"act": "skip"}).status == 403
    assert not asked.page.desk.doings


def test_without_a_session_nothing_can_be_done(token_file: Path) -> None:
    """The page shows everything, and leads whoever wants to act to the token."""
    asked = browser(token_file)
    assert "/confirm" not in asked.ask("/").text
    assert asked.ask("/confirm?act=replay&group=g").headers["location"] == "/sign-in"
    assert asked.ask("/acts", {"act": "replay"}).status == 403


def test_who_has_typed_the_token_may_act(signed_in: tuple[Browser, dict[str, str]]) -> None:
    """Control of all that is refused below: with everything right, the act begins."""
    asked, form = signed_in
    assert "/confirm?act=replay" in asked.ask("/").text
    assert "Replay 1 dead letter" in asked.ask("/confirm?act=replay&group=g").text
    answer = asked.ask("/acts", form)
    assert (answer.status, answer.headers["location"]) == (303, "/#acts")
    [doing] = asked.page.desk.doings
    assert doing.act == Act("somebody", "it was mended")


@pytest.mark.parametrize(
    ("change", "headers", "status"),
    [
        ({"csrf": ""}, {}, 403),
        ({"csrf": "another"}, {}, 403),
        ({}, {"origin": "http://evil.example"}, 403),
        ({}, {"origin": "null"}, 403),
        ({}, {"origin": f"https://{HOST}"}, 403),
        ({}, {"origin": None}, 403),
        ({}, {"origin": None, "sec-fetch-site": "cross-site"}, 403),
        ({}, {"cookie": None}, 403),
        ({}, {"cookie": "page-18088=guessed"}, 403),
        ({}, {"host": "evil.example:18088", "origin": "http://evil.example:18088"}, 421),
        ({"proof": "of other letters"}, {}, 409),
        ({"why": " "}, {}, 409),
        ({"why": "x" * 501}, {}, 409),
        ({"by": ""}, {}, 409),
        ({"act": "delete"}, {}, 400),
        ({"why": "x" * 20_000}, {}, 413),
    ],
)
def test_an_act_that_lacks_one_thing_is_refused(
    signed_in: tuple[Browser, dict[str, str]],
    change: dict[str, str],
    headers: dict[str, str | None],
    status: int,
) -> None:
    """Session, its secret in the form, origin, name, the letters that were confirmed, and why."""
    asked, form = signed_in
    assert asked.ask("/acts", {**form, **change}, **headers).status == status
    assert not asked.page.desk.doings


def test_a_browser_that_tells_no_origin_says_where_it_comes_from(
    signed_in: tuple[Browser, dict[str, str]],
) -> None:
    """Sec-Fetch-Site stands for the origin, where that is not sent."""
    asked, form = signed_in
    answer = asked.ask("/acts", form, origin=None, **{"sec-fetch-site": "same-origin"})
    assert answer.status == 303


def test_a_wrong_token_begins_no_session(token_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And each attempt takes its time, one after the other."""
    waited: list[float] = []

    async def no_time(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", no_time)
    asked = browser(token_file)
    for wrong in ("", "x", TOKEN[:-1], f"{TOKEN}x", "ünï"):
        answer = asked.ask("/sign-in", {"token": wrong})
        assert answer.status == 403
        assert "set-cookie" not in answer.headers
    assert waited == [app_module.WRONG_TOKEN_SECONDS] * 5
    assert not asked.page.sessions.known


def test_a_session_ends_with_its_time_its_token_and_its_user(token_file: Path) -> None:
    """After eight hours, with another token in the file, or by signing out."""
    now = [0.0]
    sessions = Sessions(Token(token_file), clock=lambda: now[0])
    name = sessions.begin()
    assert sessions.find(name)
    now[0] = SESSION_SECONDS + 1
    assert sessions.find(name) is None
    name = sessions.begin()
    token_file.write_text("another-token-of-the-file")
    assert sessions.find(name) is None
    token_file.write_text(TOKEN)
    asked = browser(token_file)
    csrf = asked.sign_in()
    assert asked.ask("/sign-out", {"csrf": csrf}).status == 303
    assert not asked.page.sessions.known


def test_a_token_file_that_was_taken_away_ends_every_session(token_file: Path) -> None:
    """The page goes on showing; nobody can sign in, and it says why."""
    asked = browser(token_file)
    asked.sign_in()
    token_file.unlink()
    shown = asked.ask("/")
    assert (shown.status, "/confirm" in shown.text) == (200, False)
    answer = asked.ask("/sign-in", {"token": TOKEN})
    assert answer.status == 503
    assert "PAGE_TOKEN_FILE" in answer.text


def test_looks_that_hang_hold_up_nobody_else(token_file: Path) -> None:
    """As many as may be at once hang: the next is told so, and the page is there."""
    freed = threading.Event()

    def hang(_env: Any, _wanted: str) -> list[Trace]:
        freed.wait(10)
        return []

    asked = browser(look_up=hang)
    get = {"host": HOST}

    async def ask_all() -> tuple[Answer, Answer]:
        hanging = [
            asyncio.create_task(exchange(asked.app, "/trace?id=x", get, None))
            for _ in range(app_module.LOOKS)
        ]
        await asyncio.sleep(0)
        try:
            refused = await exchange(asked.app, "/trace?id=x", get, None)
            return refused, await exchange(asked.app, "/live", get, None)
        finally:
            freed.set()
            await asyncio.gather(*hanging)

    refused, shown = asyncio.run(ask_all())
    assert (refused.status, shown.status) == (503, 200)


def test_of_many_reasons_the_most_frequent_are_shown() -> None:
    """And how many more there are."""
    rows = [{**ROW, "reason": f"reason {n}"} for n in range(150)]
    found = view(board(letters=of_now(rows)))
    assert (len(found.groups), found.more_groups) == (100, 50)
    assert found.letters == 150 * 1_200


def test_the_cookie_is_of_no_use_to_scripts_and_other_sites(token_file: Path) -> None:
    """HttpOnly, and SameSite=Strict."""
    answer = browser(token_file).ask("/sign-in", {"token": TOKEN})
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie


def test_no_secret_is_on_any_page(signed_in: tuple[Browser, dict[str, str]]) -> None:
    """Neither the token nor what the cookie holds."""
    asked, form = signed_in
    [name] = asked.page.sessions.known
    paths = ["/", "/live", "/sign-in", "/confirm?act=skip&group=g", "/nowhere", "/assets/page.js"]
    shown = "".join(asked.ask(path).text for path in paths)
    shown += asked.ask("/acts", {**form, "why": ""}).text
    assert TOKEN not in shown
    assert name not in shown
    assert f"page-18088={name}" == asked.cookie


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:9", "[::1]:18088", "ops.example"])
def test_it_answers_to_its_own_names(host: str) -> None:
    """Those of this machine, and those that the setting names."""
    asked = browser(allowed=frozenset({"ops.example"}))
    assert asked.ask("/", host=host).status == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "", "127.0.0.1.nip.io", "["]
)
def test_another_name_is_refused(host: str) -> None:
    """A name of somebody else that leads to this machine shows nothing to their page."""
    answer = browser().ask("/", host=host)
    assert answer.status == 421
    assert POSITION not in answer.text


@pytest.mark.parametrize("path", ["/", "/live", "/assets/page.css", "/nowhere", "/sign-in"])
def test_every_answer_forbids_what_it_does_not_need(path: str) -> None:
    """No script or style but its own files, no frame around it, no guessing of types."""
    answer = browser().ask(path)
    for name, value in HEADERS.items():
        assert answer.headers[name.lower()] == value
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none';")
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy


def test_no_page_has_script_or_style_within_it() -> None:
    """The policy would forbid it: what is there is in files."""
    for file in Path(app_module.FOLDER, "templates").glob("*.j2"):
        text = file.read_text()
        assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", text), file
        assert not re.search(r"<script(?! src=)", text), file


# --- hostile letters


def test_a_hostile_reason_is_text() -> None:
    """Markup is escaped, and what turns a line around is shown by its number."""
    shown = browser().ask("/").text
    assert "<script>alert" not in shown
    assert "\\u202e&lt;script&gt;alert(1)&lt;/script&gt;\\x1b[2J" in shown
    assert "\u202e" not in shown


@pytest.mark.parametrize(
    "value",
    [
        b'"' + b"x" * 1_000_000 + b'"',
        b"<script>alert(1)</script>" * 40_000,
        "\u202e\u2066\u200b<b>".encode() * 80_000,
        b"\x00\xff" * 500_000,
        json.dumps({f"<img src=x onerror=alert({n})>": n for n in range(30_000)}).encode(),
        b"[" * 1_000_000,
    ],
    ids=["long", "scripts", "turned", "bytes", "fields", "nested"],
)
def test_a_hostile_letter_is_text_and_short(value: bytes) -> None:
    """A megabyte of anything is a page that one can read, with no element of its own."""
    event = {
        "key": b64encode(b"<script>").decode(),
        "value": b64encode(value).decode(),
        "value_length": len(value),
        "headers": [{"name": HOSTILE, "value": b64encode(HOSTILE.encode()).decode()}],
    }
    letter = Letter(Position(INPUT_TOPIC, 0, 57), "invalid", HOSTILE, AT, event, ())
    answer = browser(find=lambda _env, _position: letter).ask(f"/letter?position={POSITION}")
    assert answer.status == 200
    assert len(answer.text) < 100_000
    assert not re.search("<script>|<img|<b>[^<]|[\u200b\u202e\u2066\x00]", answer.text)


@pytest.mark.parametrize("name", list(INVALID)[:3])
def test_a_hostile_trace_is_text(name: str) -> None:
    """What was asked for, and what was found."""
    hop = Hop("record", MISSING, f"{name} {HOSTILE}", AT, next=HOSTILE)
    asked = browser(look_up=lambda _env, _wanted: [Trace(HOSTILE, [hop])])
    shown = asked.ask("/trace?" + urlencode({"id": HOSTILE})).text
    assert "<script>alert" not in shown
    assert "\u202e" not in shown
    assert "MISSING" in shown


def test_what_cannot_be_looked_up_is_a_sentence() -> None:
    """The other parts of the page go on."""

    def fail(_env: Any, _wanted: str) -> list[Trace]:
        raise StackError("Postgres does not answer: it is away")

    answer = browser(look_up=fail, find=fail).ask("/trace?id=x")
    assert answer.status == 503
    assert "Postgres does not answer: it is away" in answer.text
    assert browser(find=fail).ask("/letter?position=x").status == 503


def test_a_report_may_do_nothing_but_have_its_own_style(tmp_path: Path) -> None:
    """Its policy names the style by its hash; another file of the lake is not shown."""
    folder = tmp_path / "reconcile" / "report"
    folder.mkdir(parents=True)
    style = "body { color: red }"
    (folder / f"{GOOD_RUN.run_id}.html").write_text(f"<style>{style}</style>")
    (tmp_path / "reconcile" / "secret.html").write_text("a secret")
    asked = browser(env={"DELTA_ROOT": str(tmp_path)})
    answer = asked.ask(f"/report/{GOOD_RUN.run_id}")
    assert answer.status == 200
    found = b64encode(sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{found}'" in answer.headers["content-security-policy"]
    assert asked.ask("/report/../secret").status == 404
    assert asked.ask("/report/%2e%2e%2fsecret").status == 404


# --- acts


def test_letters_of_a_reason_have_one_name_and_others_another() -> None:
    """A name is of topic, kind and reason together."""
    names = {
        group_of({**ROW, **changed})
        for changed in ({}, {"topic": "x"}, {"kind": "conflict"}, {"reason": "x"}, {"letters": 1})
    }
    assert len(names) == 4


def test_one_act_at_a_time() -> None:
    """A second one is refused until the first is done; then it may begin."""
    go_on = threading.Event()

    def slow(_plan: Plan, _act: Act, note: Note) -> tuple[Sequence[str], bool]:
        note("1 of 2")
        go_on.wait(10)
        return ["2  fine"], True

    desk = Desk(slow)
    first = desk.begin(PLAN, Act("somebody", "x"))
    assert first is not None
    assert desk.begin(PLAN, Act("somebody", "x")) is None
    go_on.set()
    until_ended(first)
    assert (first.state, first.lines) == ("done", ["2  fine"])
    assert desk.begin(PLAN, Act("somebody", "x")) is not None


def test_an_act_that_fails_says_why() -> None:
    """And what it says is visible, whatever is in it."""

    def fail(_plan: Plan, _act: Act, _note: Note) -> tuple[Sequence[str], bool]:
        raise StackError(f"Postgres does not answer {HOSTILE}")

    doing = Desk(fail).begin(PLAN, Act("somebody", "x"))
    assert doing is not None
    until_ended(doing)
    assert doing.state == "not done"
    assert doing.lines[0].startswith("Postgres does not answer \\u202e")


def until_ended(doing: Doing) -> None:
    """Wait until an act is over."""
    wait_for(lambda: doing.state != "at work", "the act does not end")


# --- settings


@pytest.mark.parametrize("text", ["", "short", "\nsecond line is no token"])
def test_a_token_that_is_easily_guessed_is_refused(tmp_path: Path, text: str) -> None:
    """At the start, with the file, the setting and the way out."""
    file = tmp_path / "token"
    file.write_text(text)
    with pytest.raises(StackError, match=r"PAGE_TOKEN_FILE=.*fewer than 16.*openssl"):
        Token(file).refuse_if_unfit()


def test_a_token_file_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    """It names the setting; without one, nothing is wrong."""
    with pytest.raises(StackError, match=r"PAGE_TOKEN_FILE=.*nowhere: No such file"):
        Token(tmp_path / "nowhere").refuse_if_unfit()
    Token(Path()).refuse_if_unfit()
