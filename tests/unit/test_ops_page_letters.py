"""Letters on the page: text whatever is in them; acts about them, one after the other."""

import json
import re
import threading
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from contract.names import INPUT_TOPIC
from contract.samples import INVALID
from ops.letters.acts import Act
from ops.letters.command import Letter
from ops.page.acts import Desk, Doing, Plan, group_of
from ops.progress import Note
from ops.stack.supervisor import StackError
from ops.trace.databases import Position
from ops.trace.hops import MISSING, Hop, Trace
from tests.page import AT, GOOD_RUN, HOSTILE, PLAN, POSITION, ROW, browser, wait_for


def test_a_hostile_reason_is_text() -> None:
    """Markup is escaped, and what turns a line around is shown by its number."""
    shown = browser().ask("/").text
    assert "<script>alert" not in shown
    assert "\\u202e&lt;script&gt;alert(1)&lt;/script&gt;\\x1b[2J" in shown
    assert "\u202e" not in shown


def test_control_without_escaping_a_reason_would_be_markup() -> None:
    """What is a script in a reason would be one on the page."""
    asked = browser()
    asked.page.templates.autoescape = False
    assert "<script>alert(1)</script>" in asked.ask("/").text


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
