"""The page of `pipeline status --serve` in a real browser, before a real stack."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from signal import Signals
from typing import Any

import pytest
import requests
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page, sync_playwright

from ops.letters.acts import Act, choose, skip
from ops.letters.command import Filter
from ops.settings import ROOT
from ops.stack.stack import Stack
from tests.builders import value
from tests.client import Sent, exactly_one, fresh, query, send, until, until_handled
from tests.refusing import FOR_ONE, changed, execute
from tests.stacks import PORTS

PORT = PORTS + 189
ADDRESS = f"http://localhost:{PORT}"
TOKEN = "a token of thirty characters .."
PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM = next(filter(None, map(shutil.which, PROGRAMS)), None)
WIDTHS = (390, 820, 1400)
CHECK = FOR_ONE["a CHECK"]
QUICK = {"REFUSAL_PROBE_SECONDS": "0.1", "REFUSAL_LIMIT": "1000"}
SCRIPT = b"<script>document.title = 'run'; alert(1)</script><img src=x onerror=alert(2)>"
TURNED = "\u202e\u2066".encode()
SOON_MS = 30_000
ASKED_AGAIN = "status of 409"  # the browser's own line about an act that must be confirmed anew

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason=f"there is no browser: install one of {', '.join(PROGRAMS)}"
)


@contextmanager
def serving(stack: Stack, **settings: str) -> Iterator[None]:
    """Have the page of a stack, as somebody types it."""
    env = {**stack.env(), "ATTACH": "true", "PAGE_PORT": str(PORT), **settings}
    command = [sys.executable, "-m", "ops", "status", "--serve"]
    with subprocess.Popen(command, env=env, cwd=ROOT, stdout=subprocess.DEVNULL) as process:
        try:
            until(is_there, bool, 30, "the page is not there")
            yield
        finally:
            process.terminate()
            assert process.wait(20) == 0


def is_there() -> bool:
    """Return whether the page answers."""
    try:
        return requests.get(f"{ADDRESS}/livez", timeout=5).ok
    except requests.ConnectionError:
        return False


@pytest.fixture(scope="module")
def served(spoiled_stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The page of the stack that need not reconcile, with a token."""
    file = tmp_path_factory.mktemp("page") / "token"
    file.write_text(TOKEN)
    with serving(spoiled_stack, PAGE_TOKEN_FILE=str(file)):
        yield


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser without a window."""
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture
def page(browser: Browser, served: None) -> Iterator[Page]:
    """A tab of one who was never here; whatever goes wrong in it fails the test."""
    with tab(browser) as opened:
        yield opened


@contextmanager
def tab(browser: Browser, **options: Any) -> Iterator[Page]:
    """Open a tab; in the end, nothing has gone wrong in it."""
    context = browser.new_context(**options)
    context.set_default_timeout(SOON_MS)
    opened = context.new_page()
    wrong: list[str] = []

    def note_dialog(dialog: Dialog) -> None:
        wrong.append(dialog.message)
        dialog.dismiss()

    def note_console(said: ConsoleMessage) -> None:
        if said.type == "error" and ASKED_AGAIN not in said.text:
            wrong.append(said.text)

    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("dialog", note_dialog)
    opened.on("console", note_console)
    try:
        yield opened
        assert wrong == []
    finally:
        context.close()


def sign_in(page: Page) -> None:
    """Type the token."""
    page.goto(f"{ADDRESS}/sign-in")
    page.get_by_label("Token").fill(TOKEN)
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Sign out").wait_for()


def serious(page: Page) -> list[str]:
    """Return what keeps people from using a page, as axe-core finds it."""
    found = Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {one['nodes'][0]['html']}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]


@pytest.fixture
def quick(spoiled: Stack) -> Iterator[None]:
    """A service that buries whatever one cause refuses; no letter is open."""
    until_handled()
    execute("truncate refusal, refusal_allowed")
    left = choose(os.environ, Filter(), [], again=True)
    skip(os.environ, left, Act("a test", "of an earlier test"))
    spoiled.start("service", env=QUICK)
    yield
    spoiled.start("service")


def bury(count: int) -> list[str]:
    """Have so many good messages buried by a constraint that is gone afterwards."""
    prefix = fresh("page")
    ids = [f"{prefix}-{n}" for n in range(count)]
    with changed(CHECK.change, CHECK.mend):
        send([Sent(one, one, value(one, customer_id="c-13")) for one in ids])
        until_handled()
    return ids


def test_a_part_that_breaks_is_seen_without_a_reload(spoiled: Stack, page: Page) -> None:
    """And that it is well again. Who types or reads meanwhile is not disturbed."""
    page.goto(ADDRESS)
    page.get_by_text("Each hop").click()
    page.locator("#id").fill("half an id")
    page.evaluate("window.stays = true")
    silent = page.get_by_text("Connect does not answer")
    assert silent.count() == 0
    spoiled.kill("connect", Signals.SIGSTOP)
    try:
        silent.wait_for()
        assert page.title().startswith("✗")
    finally:
        spoiled.kill("connect", Signals.SIGCONT)
    silent.wait_for(state="detached")
    assert page.evaluate("window.stays")
    assert page.evaluate("document.activeElement.id") == "id"
    assert page.locator("#id").input_value() == "half an id"
    assert page.evaluate("document.getElementById('hops').open")


def test_while_a_part_hangs_the_page_is_there_at_once(spoiled: Stack, page: Page) -> None:
    """Postgres stands still: within two seconds there is a page, which says so."""
    page.goto(ADDRESS)
    page.get_by_role("heading", name="Dead letters").wait_for()
    spoiled.kill("postgres", Signals.SIGSTOP)
    try:
        page.get_by_text("Postgres does not answer").first.wait_for()
        took = requests.get(ADDRESS, timeout=10).elapsed.total_seconds()
    finally:
        spoiled.kill("postgres", Signals.SIGCONT)
    assert took < 2
    page.get_by_text("Postgres does not answer").first.wait_for(state="detached")
    until_handled()


def test_letters_are_replayed_and_gone(quick: None, page: Page) -> None:
    """By the keyboard alone, with a token, a confirmation and a reason; each has one effect."""
    ids = bury(3)
    sign_in(page)
    replay = page.get_by_role("link", name="Replay 3 letters")
    replay.wait_for()
    assert serious(page) == []
    replay.focus()
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Replay 3 dead letters?").wait_for()
    assert serious(page) == []
    page.keyboard.type("the constraint is gone")
    page.keyboard.press("Tab")
    page.keyboard.type("somebody")
    page.keyboard.press("Enter")
    page.locator(".doings li.good").wait_for()
    replay.wait_for(state="detached")
    assert serious(page) == []
    exactly_one(ids)
    acts = query("select act, why, acted_by from dead_letter_act order by id desc limit 3")
    assert {tuple(row) for row in acts} == {("replay", "the constraint is gone", "somebody")}


def test_letters_that_became_others_meanwhile_are_not_touched(quick: None, page: Page) -> None:
    """Who confirms what was two letters, and is three by now, is asked again."""
    bury(2)
    sign_in(page)
    page.get_by_role("link", name="Skip 2 letters").click()
    page.get_by_role("heading", name="Skip 2 dead letters?").wait_for()
    bury(1)
    page.get_by_label("Why").fill("nobody wants them")
    page.get_by_label("Who you are").fill("somebody")
    page.get_by_role("button", name="Skip 2 dead letters").click()
    page.get_by_role("heading", name="Skip 3 dead letters?").wait_for()
    assert len(choose(os.environ, Filter(), [])) == 3
    page.get_by_role("button", name="Skip 3 dead letters").click()
    page.get_by_text("No open dead letters.").wait_for()
    assert choose(os.environ, Filter(), [], again=True) == []


@pytest.mark.parametrize(
    "hostile",
    [SCRIPT, SCRIPT + TURNED * 10, SCRIPT * 12_000, TURNED * 100_000],
    ids=["script", "turned", "a megabyte", "a megabyte turned"],
)
def test_a_hostile_letter_is_text(spoiled: Stack, page: Page, hostile: bytes) -> None:
    """Nothing of it runs, nothing of it is an element, and no line is turned around."""
    ident = SCRIPT.decode()[:60]
    [(partition, offset)] = send([Sent(ident, SCRIPT.decode(), hostile[:1_000_000])])
    until_handled()
    position = f"{os.environ['INPUT_TOPIC']}/{partition}/{offset}"
    page.goto(f"{ADDRESS}/letter?position={position}")
    page.get_by_role("heading", name="Dead letter").wait_for()
    shown = page.inner_text("main")
    assert "<script>" in shown
    assert not set(shown) & {"\u202e", "\u2066"}
    assert len(shown) < 50_000
    assert page.locator("main img, main script").count() == 0
    page.goto(ADDRESS)
    page.get_by_text(position).first.wait_for()
    assert page.locator("main img, main script").count() == 0
    page.goto(f"{ADDRESS}/trace?id={position}")
    page.get_by_role("heading", name=f"dead letter {position}").wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_everybody_can_use_it(served: None, browser: Browser, width: int, scheme: Any) -> None:
    """On a phone, a tablet and a desk, in light and dark: axe-core finds nothing serious."""
    viewport: Any = {"width": width, "height": 900}
    with tab(browser, viewport=viewport, color_scheme=scheme) as page:
        for path in ("/", "/sign-in", "/trace?id=nobody"):
            page.goto(f"{ADDRESS}{path}")
            page.get_by_role("heading").first.wait_for()
            assert serious(page) == []
            assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_control_axe_finds_what_nobody_can_read(page: Page) -> None:
    """Grey on grey is serious: the check above would see it."""
    page.goto(ADDRESS)
    page.evaluate(
        "document.styleSheets[0].insertRule('h1 { color: #777 !important; background: #888 }')"
    )
    assert any(found.startswith("color-contrast") for found in serious(page))


def test_it_works_without_script(served: None, browser: Browser) -> None:
    """Everything is in the page itself, which then reloads itself."""
    with tab(browser, java_script_enabled=False) as page:
        page.goto(ADDRESS)
        assert page.locator("svg").count() == 1
        assert page.locator("noscript meta[http-equiv=refresh]").count() == 1
        assert not page.get_by_role("button", name="Pause").is_visible()


def test_it_stands_still_on_request(page: Page) -> None:
    """Paused, it asks for nothing in ten minutes of its clock; then it goes on."""
    page.clock.install()
    page.goto(ADDRESS)
    with page.expect_request("**/live"):
        page.clock.run_for(3_000)
    page.get_by_role("button", name="Pause").click()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.clock.run_for(600_000)
    assert asked == []
    with page.expect_request("**/live"):
        page.get_by_role("button", name="Go on").click()
        page.clock.run_for(3_000)
