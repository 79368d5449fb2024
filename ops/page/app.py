"""The page's HTTP side: what is shown to everybody, and what only a session may do."""

import asyncio
import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qs

import psycopg
from confluent_kafka import KafkaException
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from ops.letters.acts import Act
from ops.letters.command import Letter, find_letter, letter_lines
from ops.letters.decoded import visible
from ops.page import words
from ops.page.access import (
    ALWAYS_ALLOWED,
    Session,
    Sessions,
    add_headers,
    guard_names,
    is_own_origin,
    is_same,
)
from ops.page.acts import KINDS, Desk, Kind, Plan, make_plan
from ops.page.flows import MARKS
from ops.page.view import View
from ops.settings import Env
from ops.stack.supervisor import StackError
from ops.trace.command import trace
from ops.trace.hops import NOT_FINE, Trace

FOLDER = Path(__file__).parent
BODY_BYTES = 16 * 1024
WHY_LENGTH = 500
BY_LENGTH = 80
ID_LENGTH = 600  # of what is traced: a key has at most 512 bytes
WRONG_TOKEN_SECONDS = 1.0  # one attempt at a time, and each that fails takes so long
LOOKS = 4  # of people for one thing, at once: each holds connections, and may hang
REPORT = re.compile(r"\d{8}T\d{6}\.\d{6}Z")
STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)
FAILURES = (StackError, psycopg.Error, KafkaException, OSError)

Form = Mapping[str, str]
Found = TypeVar("Found")


def load_templates() -> Environment:
    """Return the templates: all that they show is text, and a value that is not there an error."""
    environment = Environment(
        autoescape=True,
        loader=FileSystemLoader(FOLDER / "templates"),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {
        "count": words.count,
        "moment": words.moment,
        "since": words.since,
        "visible": visible,
    }
    environment.globals["marks"] = MARKS
    return environment


@dataclass
class Page:
    """What the answers are made of, all handed in."""

    env: Env
    view: Callable[[], View]
    desk: Desk
    sessions: Sessions
    cookie: str  # its name; cookies of one host are shared by all its ports
    allowed: frozenset[str] = frozenset()  # names of this host besides localhost
    plan: Callable[[Env, Kind, str, str], Plan | None] = make_plan
    look_up: Callable[[Env, str], list[Trace]] = trace
    find: Callable[[Env, str], Letter | None] = find_letter
    signing_in: asyncio.Lock = field(default_factory=asyncio.Lock)
    looking: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(LOOKS))
    templates: Environment = field(default_factory=load_templates)

    def session(self, request: Request) -> Session | None:
        """Return who asks, if that is one who may act."""
        if not self.sessions.token.is_there:
            return None
        return self.sessions.find(request.cookies.get(self.cookie))

    def render(self, request: Request, name: str, status: int = 200, **values: Any) -> HTMLResponse:
        """Return a page; each knows who looks at it."""
        template = self.templates.get_template(f"{name}.html.j2")
        text = template.render(
            session=self.session(request),
            can_sign_in=self.sessions.token.is_there,
            **values,
        )
        return HTMLResponse(text, status)

    async def look(self, function: Callable[..., Found], *arguments: str) -> Found:
        """Look something up, or raise why that is not possible now."""
        if self.looking.locked():
            raise HTTPException(503, f"{LOOKS} things are being looked for: try again in a moment.")
        async with self.looking:
            try:
                return await run_in_threadpool(function, self.env, *arguments)
            except FAILURES as failure:
                raise HTTPException(503, f"It cannot be looked up now: {failure}") from failure

    def say(self, request: Request, status: int, title: str, sentence: str) -> HTMLResponse:
        """Return a page that says one thing."""
        return self.render(request, "sentence", status, title=title, sentence=sentence)


def create_app(page: Page) -> ASGIApp:
    """Return the application, with everything it needs handed in."""
    routes = [
        Route("/", partial(show_all, page)),
        Route("/live", partial(show_live, page)),
        Route("/trace", partial(show_trace, page)),
        Route("/letter", partial(show_letter, page)),
        Route("/report/{run_id}", partial(show_report, page)),
        Route("/sign-in", partial(show_sign_in, page)),
        Route("/sign-in", partial(sign_in, page), methods=["POST"]),
        Route("/sign-out", partial(sign_out, page), methods=["POST"]),
        Route("/confirm", partial(confirm, page)),
        Route("/acts", partial(act, page), methods=["POST"]),
        Route("/livez", livez),
        Mount("/assets", StaticFiles(directory=FOLDER / "assets")),
    ]
    handlers: Mapping[Any, Any] = {HTTPException: partial(show_problem, page)}
    app: ASGIApp = Starlette(routes=routes, exception_handlers=handlers)
    allowed = page.allowed | frozenset(ALWAYS_ALLOWED)
    return add_headers(guard_names(app, allowed))


async def livez(_request: Request) -> Response:
    """Say that the page answers."""
    return PlainTextResponse("ok\n")


async def show_all(page: Page, request: Request) -> Response:
    """Show the whole page."""
    return page.render(request, "page", view=page.view())


async def show_live(page: Page, request: Request) -> Response:
    """Show the part of the page that changes, for its script."""
    return page.render(request, "live", view=page.view())


async def show_trace(page: Page, request: Request) -> Response:
    """Show where a message is, hop by hop."""
    wanted = request.query_params.get("id", "").strip()[:ID_LENGTH]
    if not wanted:
        return RedirectResponse("/", 303)
    traces = await page.look(page.look_up, wanted)
    return page.render(request, "trace", wanted=wanted, traces=traces, not_fine=NOT_FINE)


async def show_letter(page: Page, request: Request) -> Response:
    """Show one dead letter as text, whatever is in it."""
    position = request.query_params.get("position", "")[:ID_LENGTH]
    letter = await page.look(page.find, position)
    if letter is None:
        return page.say(request, 404, "No dead letter", f"{position} is no dead letter.")
    lines = list(letter_lines(letter))
    is_open = not any(one["act"] == "skip" or one["sent"] for one in letter.acts)
    return page.render(
        request, "letter", position=position, letter=letter, lines=lines, is_open=is_open
    )


async def show_report(page: Page, request: Request) -> Response:
    """Show the page of a reconciliation, which has its style within it."""
    run_id = request.path_params["run_id"]
    file = Path(page.env["DELTA_ROOT"], "reconcile", "report", f"{run_id}.html")
    if not REPORT.fullmatch(run_id) or not file.is_file():
        return page.say(request, 404, "No report", "There is no report of this reconciliation.")
    text = await run_in_threadpool(file.read_text)
    return HTMLResponse(text, headers={"Content-Security-Policy": policy_of_report(text)})


def policy_of_report(text: str) -> str:
    """Return what a report may do: nothing but its own style."""
    hashes = []
    for style in STYLE.findall(text):
        found = b64encode(sha256(style.encode()).digest()).decode()
        hashes.append(f"'sha256-{found}'")
    return (
        f"default-src 'none'; style-src {' '.join(hashes)}; frame-ancestors 'none';"
        " base-uri 'none'; form-action 'none'"
    )


async def show_sign_in(page: Page, request: Request) -> Response:
    """Ask for the token."""
    return page.render(request, "sign_in", is_wrong=False)


async def sign_in(page: Page, request: Request) -> Response:
    """Begin a session for who types the token; guessing is slow."""
    form = await read_own_form(request)
    async with page.signing_in:
        if not page.sessions.token.is_there:
            raise HTTPException(403, "Nobody can sign in: PAGE_TOKEN_FILE is not set.")
        if not is_token(page, form.get("token", "").strip()):
            await asyncio.sleep(WRONG_TOKEN_SECONDS)
            return page.render(request, "sign_in", 403, is_wrong=True)
    answer = RedirectResponse("/", 303)
    answer.set_cookie(
        page.cookie,
        page.sessions.begin(),
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return answer


def is_token(page: Page, typed: str) -> bool:
    """Return whether this is the token; raise what is wrong with its file."""
    try:
        return page.sessions.token.is_right(typed)
    except StackError as failure:
        raise HTTPException(503, f"{failure}") from failure


async def sign_out(page: Page, request: Request) -> Response:
    """End the session."""
    await read_form_of_session(page, request)
    page.sessions.end(request.cookies.get(page.cookie))
    answer = RedirectResponse("/", 303)
    answer.delete_cookie(page.cookie, httponly=True, samesite="strict")
    return answer


async def confirm(page: Page, request: Request) -> Response:
    """Say what would be done, and ask why."""
    session = page.session(request)
    if session is None:
        return RedirectResponse("/sign-in", 303)
    plan = await plan_of(page, request.query_params)
    return page.render(request, "confirm", plan=plan, problem="", why="", by=session.by)


async def act(page: Page, request: Request) -> Response:
    """Begin what was confirmed; if it is another thing by now, ask again."""
    session, form = await read_form_of_session(page, request)
    plan = await plan_of(page, form)
    why, by = form.get("why", "").strip(), form.get("by", "").strip()
    problem = find_problem(plan, form, why, by)
    if not problem and page.desk.begin(plan, Act(by, why)) is None:
        problem = "Another act is at work: wait until it is done."
    if problem:
        return page.render(request, "confirm", 409, plan=plan, problem=problem, why=why, by=by)
    session.by = by
    return RedirectResponse("/#acts", 303)


def find_problem(plan: Plan, form: Form, why: str, by: str) -> str:
    """Return why an act cannot begin, if it cannot."""
    if form.get("proof") != plan.proof:
        return "There are other letters by now: this is what would be done."
    if not why or len(why) > WHY_LENGTH:
        return f"Say why, in at most {WHY_LENGTH} characters: it is written down with the act."
    if not by or len(by) > BY_LENGTH:
        return f"Say who you are, in at most {BY_LENGTH} characters: it is written down, too."
    return ""


async def plan_of(page: Page, asked: Form) -> Plan:
    """Return what would be done, or raise what is wrong with the question."""
    kind = next((kind for kind in KINDS if kind == asked.get("act")), None)
    if kind is None:
        raise HTTPException(400, "act: should be replay or skip.")
    group, position = asked.get("group", ""), asked.get("position", "")[:ID_LENGTH]
    plan = await page.look(page.plan, kind, group, position)
    if plan is None:
        raise HTTPException(404, "There are no such open letters any more.")
    return plan


async def read_own_form(request: Request) -> dict[str, str]:
    """Return the fields of a form that was sent from this page itself."""
    if not is_own_origin(request):
        raise HTTPException(403, "This form was sent from another page.")
    raw = bytearray()
    try:
        async for chunk in request.stream():
            raw += chunk
            if len(raw) > BODY_BYTES:
                raise HTTPException(413, f"A form has at most {BODY_BYTES} bytes.")
        fields = parse_qs(raw.decode(), max_num_fields=20)
    except (ValueError, ClientDisconnect):
        raise HTTPException(400, "This is no form.") from None
    return {name: values[0] for name, values in fields.items()}


async def read_form_of_session(page: Page, request: Request) -> tuple[Session, dict[str, str]]:
    """Return the fields of a form that one who may act has sent from a page of theirs."""
    form = await read_own_form(request)
    session = page.session(request)
    if session is None:
        raise HTTPException(403, "Type the token first: this is for those who have it.")
    if not is_same(form.get("csrf", ""), session.csrf):
        raise HTTPException(403, "This form is not of your session: open the page again.")
    return session, form


async def show_problem(page: Page, request: Request, problem: HTTPException) -> Response:
    """Show what is wrong with a question."""
    title = "That is not possible" if problem.status_code != 404 else "Nothing is here"
    return page.say(request, problem.status_code, title, problem.detail)
