"""Who may look at the page, who may act there, and what it never shows."""

import asyncio
import re
import threading
from pathlib import Path
from typing import Any

import pytest

from ops.letters.acts import Act
from ops.page import app as app_module
from ops.page.access import HEADERS, SESSION_SECONDS, Sessions, Token
from ops.stack.supervisor import StackError
from ops.trace.hops import Trace
from tests.page import HOST, PLAN, POSITION, TOKEN, Answer, Browser, browser, exchange


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    """A file with the token."""
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    return file


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


def test_control_without_the_look_at_names_a_foreign_one_is_shown_everything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The page of somebody else, at their name, could read what is here."""
    monkeypatch.setattr(app_module, "guard_names", lambda app, _allowed: app)
    answer = browser().ask("/", host="evil.example")
    assert POSITION in answer.text


def test_control_without_the_look_at_origins_and_secrets_a_foreign_form_acts(
    signed_in: tuple[Browser, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page of somebody else could have letters replayed by whoever is signed in here."""
    asked, form = signed_in
    monkeypatch.setattr(app_module, "is_own_origin", lambda _request: True)
    monkeypatch.setattr(app_module, "is_same", lambda _given, _right: True)
    answer = asked.ask("/acts", {**form, "csrf": ""}, origin="http://evil.example")
    assert answer.status == 303
    assert asked.page.desk.doings


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
