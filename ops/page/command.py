"""`pipeline status --serve`: the page of this stack, until it is stopped."""

import threading
import time
from functools import partial

import uvicorn

from ops.page.access import Sessions, Token
from ops.page.acts import Desk, act_on
from ops.page.app import Page, create_app
from ops.page.board import make_board
from ops.page.view import view_now
from ops.stack.checks import port_taken
from ops.stack.stack import Stack
from ops.stack.supervisor import StackError

ANYWHERE = ("0.0.0.0", "::")  # noqa: S104 - what it listens on is a setting
STOP_SECONDS = 3


def serve(stack: Stack) -> None:
    """Show how everything is until the process is stopped."""
    settings = stack.settings
    token = Token(settings.page_token_file)
    token.refuse_if_unfit()
    taken = port_taken("PAGE_PORT", settings.page_port)
    if taken:
        raise StackError(taken)
    stopping = threading.Event()
    page = make_page(stack, token, stopping)
    acts = "may replay and skip" if token.is_there else "read only: PAGE_TOKEN_FILE is not set"
    print(f"http://localhost:{settings.page_port} ({acts}); Ctrl-C ends it", flush=True)
    uvicorn.run(
        create_app(page),
        host=settings.page_host,
        port=settings.page_port,
        log_level="warning",
        http="h11",
        server_header=False,
        timeout_graceful_shutdown=STOP_SECONDS,
    )
    stopping.set()


def make_page(stack: Stack, token: Token, stopping: threading.Event) -> Page:
    """Return what the answers are made of; it is being looked for in the background."""
    settings = stack.settings
    env = stack.env()
    board = make_board(stack, time.monotonic)
    board.start(stopping)
    desk = Desk(act_on(env))
    view = partial(view_now, board, desk, env["INPUT_TOPIC"], landing_stays=settings.land)
    names = [name.strip() for name in settings.page_allowed_hosts.split(",")]
    if settings.page_host not in ANYWHERE:
        names.append(settings.page_host)
    return Page(
        env=env,
        view=lambda: view(time.monotonic()),
        desk=desk,
        sessions=Sessions(token),
        cookie=f"page-{settings.page_port}",
        allowed=frozenset(filter(None, names)),
    )
