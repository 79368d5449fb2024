"""What the page says, without a stack or a browser."""

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from contract.names import INPUT_TOPIC
from ops.guard.findings import LATE_SECONDS
from ops.guard.look import Task
from ops.page.acts import Desk
from ops.page.answers import LATE_SECONDS as ANSWER_SECONDS
from ops.page.answers import Answers
from ops.page.board import Board, outbox_topics
from ops.page.pace import MOST_MARKS, Pace, Waits
from ops.page.read import Landed, Took
from ops.page.view import view_now
from spark.hops import OUTBOX_TO, TOPICS_TO_LANDED
from tests.page import (
    AT,
    GOOD_RUN,
    HELD,
    NOW,
    ROW,
    ROWS,
    SLOTS,
    TOPICS,
    board,
    failing,
    nothing_done,
    of_now,
    view,
    wait_for,
)


def sentences(found: Board) -> dict[str, str]:
    """What is not well, with the next command."""
    return {finding.sentence: finding.way_out for finding in view(found).findings}


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
            {"rows": failing("no table: run python -m migrations upgrade", ROWS)},
            "the databases cannot be read: no table: run python -m migrations upgrade",
            "read the log of Postgres",
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


def test_of_many_reasons_the_most_frequent_are_shown() -> None:
    """And how many more there are."""
    rows = [{**ROW, "reason": f"reason {n}"} for n in range(150)]
    found = view(board(letters=of_now(rows)))
    assert (len(found.groups), found.more_groups) == (100, 50)
    assert found.letters == 150 * 1_200
