"""The peers' pure parts: what is counted and when the kill comes, and what people read of it."""

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from lab.peers import intake
from lab.peers.arms import ARMS, TEMPLATE, Arm
from lab.peers.arrivals import ORDER_ID
from lab.peers.command import (
    Plan,
    as_row,
    choose,
    is_clean,
    measure_all,
    prepare,
    summarize,
    summarize_loads,
)
from lab.peers.count import Count, count
from lab.peers.environments import (
    LeftOutError,
    find_python,
    make_environment,
    run,
    version_of,
)
from lab.peers.feed import Feed
from lab.peers.measure import (
    RATES,
    Kill,
    Load,
    Speed,
    choose_moment,
    describe_load,
    make_orders,
)
from lab.peers.page import bars, curves, lines, render
from lab.peers.peer import HERE
from lab.peers.takes import watch_memory
from lab.peers.versions import read_pins, versions_of
from ops.cli import app
from ops.settings import Settings
from ops.stack.supervisor import StackError, until

SPEED = Speed(432.1, memory_mb=512.3, log_bytes=1234.5, disk_bytes=678.9)
LOADS = [
    Load(50, 50.1, 61.2, 140.9),
    Load(200, 199.0, 80.3, 200.4),
    Load(500, 430.0, 900.0, 1800.0),
]
ORDERS = ["p1-o0", "p1-o1", "p1-o2", "p1-o3"]
REQUIREMENTS = sorted(HERE.glob("*/requirements.txt"))


def document(*names: str, lost: int = 0, **more: Any) -> dict[str, Any]:
    """Return a document of these arms, each with one trial."""
    kill = Kill(Count(lost=lost, doubled=7, copies=9, orders=1000), seconds=12.3)
    arms = [ARMS[name] for name in names or ARMS]
    rows = [as_row(arm, SPEED, LOADS, kill) for arm in arms]
    found = {
        "date": "2026-11-26",
        "machine": "somewhere",
        "command": "pipeline bench --peers",
        "orders": 1000,
        "rounds": 1,
        "seed": 1,
        "arms": [summarize(arm, [row]) for arm, row in zip(arms, rows, strict=True)],
        "left_out": {},
        "trials": rows,
    }
    return found | more


def test_where_each_order_has_one_event_nothing_is_lost_or_doubled() -> None:
    """What others have published is nobody's loss and nobody's double."""
    events = dict.fromkeys(ORDERS, 1) | {"p0-o1": 5}
    assert count(ORDERS, events) == Count(lost=0, doubled=0, copies=0, orders=4)


def test_control_an_event_that_is_taken_away_is_lost() -> None:
    """Each one is found, also beside an event that is there twice."""
    events = {"p1-o0": 1, "p1-o1": 2}
    assert count(ORDERS, events) == Count(lost=2, doubled=1, copies=1, orders=4)


def test_control_an_event_that_is_published_again_is_doubled() -> None:
    """An order is doubled once, however many copies there are of its event."""
    events = dict.fromkeys(ORDERS, 1) | {"p1-o1": 2, "p1-o3": 4}
    assert count(ORDERS, events) == Count(lost=0, doubled=2, copies=4, orders=4)


def test_an_event_is_known_however_its_value_is_wrapped() -> None:
    """As JSON, as JSON in a string, with a schema, and with letters that are escaped."""
    [order] = make_orders(1, 7, 1)
    assert order.value is not None
    plain = json.loads(order.value)
    for wrapped in (plain, json.dumps(plain), {"schema": {}, "payload": json.dumps(plain)}):
        found = ORDER_ID.search(json.dumps(wrapped).encode())
        assert found
        assert found[0].decode() == order.order_id


def test_orders_are_the_same_for_each_measurement_but_for_their_ids() -> None:
    """The same seed gives the same customers and lines, and no id of another measurement."""
    one, other = make_orders(1, 1, 50), make_orders(1, 2, 50)
    assert not {order.order_id for order in one} & {order.order_id for order in other}
    bodies = [
        [json.loads(order.value or b"") | {"order_id": ""} for order in orders]
        for orders in (one, other)
    ]
    assert bodies[0] == bodies[1]
    assert make_orders(2, 1, 50) != one


def test_the_kill_comes_in_the_middle_where_the_seed_says() -> None:
    """Neither before the first third nor after the last, and not always at one place."""
    moments = [choose_moment(seed, 1000) for seed in range(50)]
    assert moments == [choose_moment(seed, 1000) for seed in range(50)]
    assert len(set(moments)) > 10
    assert min(moments) >= 300
    assert max(moments) <= 700


def write_with_tasks(note: Callable[[str], None]) -> None:
    """Take the orders as an asyncio application does."""

    async def write(order: intake.Order) -> None:
        note(order["order_id"])

    asyncio.run(intake.write_each(write))


def write_with_threads(note: Callable[[str], None]) -> None:
    """Take the orders as an application with threads does."""
    intake.write_each_in_threads(nullcontext, lambda _, order: note(order["order_id"]))


@pytest.mark.parametrize("take", [write_with_tasks, write_with_threads])
def test_an_application_gets_each_order_once(
    monkeypatch: pytest.MonkeyPatch, take: Callable[[Callable[[str], None]], None]
) -> None:
    """Whether its writers are tasks or threads, none of them takes the order of another."""
    orders = make_orders(1, 1, 200)
    got: list[str] = []
    with ThreadPoolExecutor(1) as background:
        with Feed() as feed:
            monkeypatch.setenv("ORDERS_PORT", str(feed.port))
            taking = background.submit(take, got.append)
            feed.server.setblocking(True)
            assert feed.has_come()
            for order in orders:
                feed.send(order)
        taking.result(30)
    assert sorted(got) == sorted(order.order_id for order in orders)


def test_a_peer_that_fails_is_left_out_and_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Arms take turns; the template itself may not fail."""
    turns: list[str] = []

    def measure(_stack: Any, _step: Any, arm: Arm, _python: Any, _plan: Any, number: int) -> Any:
        turns.append(arm.name)
        if arm.name == failing and number == 1:
            raise StackError("3 of 9 events are missing; the log ends with:\n  much more")
        return {"number": number}

    monkeypatch.setattr("lab.peers.command.measure", measure)
    arms = [ARMS[TEMPLATE], ARMS["polling"], ARMS["debezium"]]
    pythons = {arm.name: Path() for arm in arms}
    stack: Any = None
    failing = "polling"
    trials, failed = measure_all(stack, nullcontext, arms, pythons, Plan(100, 3, 1))
    rounds = {name: [row["number"] for row in rows] for name, rows in trials.items()}
    assert rounds == {TEMPLATE: [0, 1, 2], "polling": [0], "debezium": [0, 1, 2]}
    assert failed == {"polling": "in round 2, 3 of 9 events are missing"}
    assert turns[:4] == [TEMPLATE, "polling", "debezium", TEMPLATE]
    failing = TEMPLATE
    with pytest.raises(StackError, match="3 of 9"):
        measure_all(stack, nullcontext, arms, pythons, Plan(100, 3, 1))


def test_where_no_python_is_new_enough_the_reason_says_so() -> None:
    """The sentence names the version and the way out."""
    with pytest.raises(LeftOutError, match=r"needs Python 9\.9 or later.*install one"):
        find_python((9, 9))
    assert find_python((3, 11)) == sys.executable


def test_a_python_that_does_not_start_is_passed_over(tmp_path: Path) -> None:
    """As the shim of a version manager that has no such version."""
    shim = tmp_path / "python3.12"
    shim.write_text("#!/bin/sh\nexit 127\n")
    shim.chmod(0o755)
    assert version_of(str(shim)) == (0, 0)
    assert version_of(sys.executable) == sys.version_info[:2]


def test_what_pip_says_last_is_why_a_peer_is_left_out() -> None:
    """The last line of the failure is in the reason."""
    with pytest.raises(LeftOutError, match="cannot be installed: no such thing"):
        run([sys.executable, "-c", "import sys; sys.exit('first\\nno such thing')"])


def test_an_environment_that_could_not_be_made_is_not_taken_for_one(tmp_path: Path) -> None:
    """After a failure nothing is there under its name."""
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("not a requirement at all\n")
    with pytest.raises(LeftOutError):
        make_environment(tmp_path / "peers", requirements, (3, 11))
    left = [folder.name for folder in (tmp_path / "peers").iterdir()]
    assert all(name.endswith(".unfinished") for name in left)


def test_an_arm_that_cannot_be_set_up_is_left_out_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others are measured; where there are no others, nothing is."""

    def refuse(*_: Any) -> Path:
        raise LeftOutError("it has no packages")

    monkeypatch.setattr("lab.peers.arms.make_environment", refuse)
    settings = Settings(run_dir=tmp_path)
    arms = [ARMS["polling"], ARMS["messagekit"]]
    pythons, left_out = prepare(settings, lambda _: nullcontext(), arms)
    assert pythons == {"polling": Path(sys.executable)}
    assert left_out == {"messagekit": "it has no packages"}
    with pytest.raises(StackError, match="no arm can be set up"):
        prepare(settings, lambda _: nullcontext(), arms[1:])


@pytest.mark.parametrize("file", REQUIREMENTS, ids=lambda file: file.parent.name)
def test_each_package_of_a_peer_is_pinned_with_its_hashes(file: Path) -> None:
    """What is installed is what was resolved when the list was made."""
    text = file.read_text()
    packages = re.findall(r"^\S.*$", text, re.MULTILINE)
    assert len(packages) == len(read_pins(file)) > 20
    blocks = re.split(r"^(?=\S)", text, flags=re.MULTILINE)[1:]
    assert all("--hash=sha256:" in block for block in blocks)


@pytest.mark.parametrize("name", ARMS)
def test_the_versions_that_matter_are_said(name: str) -> None:
    """Of the packages of an arm, and of Debezium and Connect where they publish."""
    arm = ARMS[name]
    found = versions_of(arm)
    assert set(arm.packages) <= set(found)
    assert ("Debezium" in found) == ("worker.properties" in arm.shown)


def test_what_cannot_be_measured_is_refused_before_anything_starts() -> None:
    """An arm that is not there, and too few orders for a percentile."""
    with pytest.raises(StackError, match="--only: there is no arm 'kafka'"):
        choose(["kafka"], 1000)
    with pytest.raises(StackError, match="--orders: 99 are too few"):
        choose([], 99)
    assert [arm.name for arm in choose(["polling", TEMPLATE], 100)] == [TEMPLATE, "polling"]


def test_only_the_peers_have_pages() -> None:
    """--output without --peers is refused, with the way out."""
    shown = CliRunner().invoke(app, ["bench", "--output", "page.md"], env={"COLUMNS": "120"})
    assert shown.exit_code == 2
    assert "only --peers writes pages: add it" in shown.output


def test_a_template_that_loses_is_not_clean() -> None:
    """What another arm loses is its own affair."""
    assert is_clean(document())
    assert is_clean(document("polling", lost=1))
    assert not is_clean(document(lost=1))


def test_a_summary_has_medians_and_adds_up_what_the_kills_left() -> None:
    """Of three rounds, the middle one is the number; losses are those of all rounds."""
    arm = ARMS["polling"]
    rates = (100.0, 900.0, 300.0)
    rows = [
        as_row(
            arm,
            SPEED._replace(orders_per_second=rate),
            [Load(50, 50, rate / 10, rate)],
            Kill(Count(1, 2, 3, 1000), rate),
        )
        for rate in rates
    ]
    found = summarize(arm, rows)
    assert found["orders_per_second"] == 300
    [load] = found["loads"]
    assert load == {"rate": 50, "reached": 50, "median": 30, "p99": 300, "keeps_up": True}
    counted = {"lost": 3, "doubled": 6, "copies": 9, "orders": 3000}
    assert found["kill"] == counted | {"seconds": 300}
    assert found["kills"] == 3


def test_an_arm_that_publishes_less_than_comes_does_not_keep_up() -> None:
    """However late its events are, one that publishes as many as come keeps up."""
    due = [n / 200 for n in range(400)]
    late = describe_load(200, due, [moment + 3 for moment in due])
    assert late.keeps_up()
    assert (round(late.median), round(late.p99)) == (3000, 3000)
    slow = describe_load(200, due, [2 * moment for moment in due])
    assert round(slow.reached) == 100
    assert not slow.keeps_up()


def test_what_most_rounds_could_not_take_is_the_end_of_an_arm() -> None:
    """One round that got further, or less far, changes nothing."""
    far = [Load(50, 50, 1, 2), Load(200, 200, 1, 2), Load(500, 500, 1, 2), Load(1000, 600, 1, 2)]
    usual = [*far[:2], Load(500, 300, 9, 99)]
    loads = [load._asdict() for round_ in (far, usual, usual) for load in round_]
    found = summarize_loads(loads)
    assert [(load["rate"], load["keeps_up"]) for load in found] == [
        (50, True),
        (200, True),
        (500, False),
    ]


def test_a_curve_ends_where_its_arm_is_saturated() -> None:
    """The rate that is too much has no point, as its latency is only that of a queue."""
    found = document("polling", "debezium")
    charts = curves(found["arms"])
    assert [chart["name"] for chart in charts] == ["median", "p99"]
    for chart in charts:
        paths = chart["lines"]
        steps = [path.count("L") for path in paths.values()]
        assert set(paths) == {"polling", "debezium"}
        assert chart["longest"] == 1
        assert steps == [1, 1]


def test_memory_is_that_of_a_process_and_its_children() -> None:
    """A child that takes more is seen while the block lasts, and a process that is gone is none."""
    child = "held = bytearray(64 << 20); print(flush=True); input()"
    with (
        subprocess.Popen(
            [sys.executable, "-c", child], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as process,
        watch_memory([process.pid, 2**22 - 1]) as megabytes,
    ):
        assert process.stdout is not None
        process.stdout.readline()
        assert until(lambda: megabytes[-1] > 64, 30), megabytes
        process.communicate(b"\n")
    assert max(megabytes) < 1024


def test_a_terminal_shows_numbers_reasons_and_the_whole_configuration() -> None:
    """Lines for each arm, a sentence for each that is left out, and each text of its settings."""
    found = document(lost=3, left_out={"other": "it has no packages"})
    shown = list(lines(found))
    speed, taken, loads = (line.split()[1:] for line in shown if line.startswith("messagekit "))
    assert speed == ["432", "3", "7", "1,000", "1", "12"]
    assert taken == ["512", "1,234", "679"]
    assert loads == ["61", "/", "141", "80", "/", "200", "430/s", "-", "-", "-", "-"]
    assert "other is left out: it has no packages" in shown
    text = "\n".join(line.strip() for line in shown)
    for arm in ARMS.values():
        assert arm.what in text
        for content in arm.shown.values():
            assert content.splitlines()[-1].strip() in text


def test_the_page_has_date_versions_machine_command_and_configuration() -> None:
    """What the numbers belong to is beside them, and the picture loads nothing."""
    found = document()
    page = render("page.md.j2", found, picture="peers.html")
    for word in ("2026-11-26", "somewhere", "`pipeline bench --peers`", f"{RATES[0]} a second"):
        assert word in page
    assert all(content in page for arm in ARMS.values() for content in arm.shown.values())
    assert all(f"\n### {name}\n" in page for name in ARMS)
    picture = render("page.html.j2", found)
    assert picture.count('class="bar"') == len(bars(found["arms"])) * len(ARMS)
    assert "http" not in picture
