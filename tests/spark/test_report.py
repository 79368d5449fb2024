"""The report: no hop is left out of the page, and the table fits a terminal."""

from collections.abc import Sequence
from datetime import UTC, datetime

from contract.names import DEAD_LETTER_TOPIC, INPUT_TOPIC
from spark.hops import OUTBOX_TO, input_to_tracking, make_hops
from spark.judging.outcome import DEFECTS
from spark.judging.standstill import Behind
from spark.lake.losses import Accepted, Loss
from spark.reporting.picture import draw
from spark.reporting.report import COUNTS, Row, render_page, render_text, verdict_of
from spark.rows.snapshot import Holder
from tests.spark.world import DECIDING

OUTBOX_TOPICS = ["fulfillment.events", "rejection.events", DEAD_LETTER_TOPIC]


def counts_of(name: str, **counts: int) -> Row:
    """The counts of a hop, 0 unless said otherwise."""
    return {"hop": name, **dict.fromkeys([*COUNTS, "matched"], 0), **counts}


def result_of(*hops: Row, behind: Sequence[Behind] = ()) -> Row:
    """What a run returns, with these counts, and with these hops behind."""
    finding = {"hop": "a hop", "id": "m-1", "outcome": "missing", "detail": "did not come out"}
    positions = {
        "committed": {0: 1_234_567},
        "log": {"slot": "0/1"},
        "ends": {"topic/0": 7_654_321},
        "ledger": None,
        "delta": {"topic": 12},
    }
    return {
        "run_id": "20261122T100000.000000Z",
        "positions": positions,
        "hops": list(hops),
        "findings": [finding],
        "accepted_losses": [],
        "failed_repairs": [],
        "confirmed": {"oldest_at": "2026-11-22 09:00:00", "age_seconds": 3_600},
        "held_by": [],
        "not_checked": 0,
        "report": "delta/reconcile/report/20261122T100000.000000Z.html",
        **verdict_of(list(hops), behind),
    }


def test_the_picture_shows_every_hop_of_the_core() -> None:
    """A hop that is added or renamed must be drawn: the picture has the names of the path."""
    *named, to_topics = [hop.name for hop in make_hops(INPUT_TOPIC, DECIDING)]
    assert to_topics == f"{OUTBOX_TO}topic"
    wanted = {*named, *(f"{OUTBOX_TO}{topic}" for topic in [*OUTBOX_TOPICS, "audit.events"])}
    assert draw(INPUT_TOPIC, OUTBOX_TOPICS).hops() == wanted


def test_the_page_lists_the_hops_that_its_picture_does_not_show() -> None:
    """The hop of an extra or of a further event is listed under the picture, with its defects."""
    drawn = counts_of("tracking → outbox", matched=3)
    not_drawn = counts_of("batch.events → total", matched=5, missing=1200)
    page = render_page(result_of(drawn, not_drawn), INPUT_TOPIC, OUTBOX_TOPICS)
    [listed] = [line for line in page.splitlines() if "<li" in line]
    assert "batch.events → total" in listed
    assert "1,200 missing" in listed


def test_the_page_draws_a_further_topic() -> None:
    """Each topic of the outbox has a box and a line, however many there are."""
    topics = [*OUTBOX_TOPICS, *(f"further-{number}.events" for number in range(4))]
    picture = draw("purchase.events", topics)
    assert {f"{OUTBOX_TO}{topic}" for topic in topics} <= picture.hops()
    assert all(box.y + 48 <= picture.height for box in picture.boxes)
    assert len({(box.x, box.y) for box in picture.boxes}) == len(picture.boxes)
    hop = counts_of("purchase.events → tracking or dead letter", **{"in": 31_110})
    page = render_page(result_of(hop), "purchase.events", topics)
    assert "31,110 records of <code>purchase.events</code> judged" in page
    assert "order.events" not in page


def test_the_page_shows_what_is_late_and_what_is_behind() -> None:
    """A line for each state: late in the picture, behind in picture, list and heading.

    Control: the same hop with everything matched is drawn as good.
    """
    name = "order.events → tracking or dead letter"
    late = counts_of(name, matched=10, late=1_200)
    drawn = render_page(result_of(late), INPUT_TOPIC, OUTBOX_TOPICS)
    assert '<g class="line late">' in drawn
    assert "… 1,200 late" in drawn
    assert "1,200 more are on their way" in drawn
    assert "What stands still" not in drawn

    stuck = Behind(name, 1_200, "2026-11-21 10:00:00", "order.events/0 is handled up to 17")
    drawn = render_page(result_of(late, behind=[stuck]), INPUT_TOPIC, OUTBOX_TOPICS)
    assert '<g class="line behind">' in drawn
    assert "‖ 1,200 wait" in drawn
    assert "✗ behind: order.events → tracking or dead letter</h1>" in drawn
    assert "<b>1,200 wait</b> since 2026-11-21 10:00:00 UTC" in drawn
    assert "order.events/0 is handled up to 17" in drawn

    good = counts_of(name, matched=10)
    drawn = render_page(result_of(good), INPUT_TOPIC, OUTBOX_TOPICS)
    assert 'class="line late"' not in drawn
    assert 'class="line behind"' not in drawn


def test_the_page_of_a_run_that_compared_nothing() -> None:
    """Without a landed topic there are no counts: the picture shows where it stands still."""
    stuck = Behind("topics → landed", 7, None, "order.events/0 has landed up to 3 of 10")
    page = render_page(result_of(behind=[stuck]), INPUT_TOPIC, OUTBOX_TOPICS)
    assert "Nothing was compared" in page
    assert "Each hop, id by id" not in page
    assert '<g class="line behind">' in page


def test_accepted_losses_are_in_every_report() -> None:
    """On the page and in the terminal, whatever the verdict is; without any, not a word."""
    loss = Accepted(Loss("order.events", 0, 5, 1_204), datetime(2026, 11, 21, 10, tzinfo=UTC))
    told = "order.events/0:5-1204, 1,200 offsets, accepted 2026-11-21 10:00:00 UTC"
    result = result_of(counts_of("a hop", matched=1)) | {"accepted_losses": [loss.describe()]}
    assert told in render_page(result, INPUT_TOPIC, OUTBOX_TOPICS)
    assert f"accepted loss: {told}" in render_text(result).splitlines()
    without = result | {"accepted_losses": []}
    assert "accepted" not in render_page(without, INPUT_TOPIC, OUTBOX_TOPICS)
    assert "accepted" not in render_text(without)


def test_failed_repairs_are_in_every_report() -> None:
    """Who did what and when, and what the id is all the same; without any, not a word."""
    failed = {"hop": "a hop", "id": "m-1", "outcome": "missing", "act": "send it again"}
    failed |= {"who": "first-hand", "done_at": "2026-11-21 10:00:00"}
    result = result_of(counts_of("a hop", missing=1)) | {"failed_repairs": [failed]}
    told = "send it again, done by first-hand at 2026-11-21 10:00:00 UTC"
    assert told in render_page(result, INPUT_TOPIC, OUTBOX_TOPICS)
    line = f"failed repair: m-1 in a hop: {told}, and it is missing"
    assert line in render_text(result).splitlines()
    without = result | {"failed_repairs": []}
    assert "done by" not in render_page(without, INPUT_TOPIC, OUTBOX_TOPICS)
    assert "failed" not in render_text(without)


def test_open_dead_letters_are_in_every_report() -> None:
    """How many wait for somebody, and how many are closed; where there are none, not a word."""
    letters = {"open": 3, "closed": 1_200}
    handled = counts_of(input_to_tracking(INPUT_TOPIC), dead_letters=1_203)
    result = result_of(handled) | {"letters": letters}
    page = render_page(result, INPUT_TOPIC, OUTBOX_TOPICS)
    assert "1,203 of them dead letters; 3 are open, 1,200 closed" in page
    assert "dead letters: 3 open, 1,200 closed" in render_text(result).splitlines()
    without = result | {"letters": {"open": 0, "closed": 0}}
    assert "open" not in render_text(without)


def test_numbers_have_separators() -> None:
    """Counts, offsets and the verdict have separators, on the page and in the terminal."""
    result = result_of(counts_of("a hop", **{"in": 1_234_567}, missing=4_321))
    page = render_page(result, INPUT_TOPIC, OUTBOX_TOPICS)
    assert {"1,234,567", "4,321 missing", "7,654,321"} <= {
        number for number in ("1,234,567", "4,321 missing", "7,654,321") if number in page
    }
    text = render_text(result)
    assert "1,234,567" in text
    assert text.endswith("verdict: 4,321 missing")


def test_the_table_fits_120_columns() -> None:
    """The table of a run with tens of thousands of records is not wrapped by a terminal."""
    numbers = {"in": 31_110, "out": 30_510, "duplicates_removed": 600, "dead_letters": 360}
    hops = [counts_of(hop.name, **numbers) for hop in make_hops(INPUT_TOPIC)]
    hops.append(counts_of("a hop whose names are longer than those of the template", **numbers))
    table = render_text(result_of(*hops)).splitlines()[: len(hops) + 2]
    assert max(map(len, table)) <= 120
    assert all(defect in table[1] for defect in DEFECTS)


def test_the_report_says_how_far_it_reaches_and_how_old_its_calm_is() -> None:
    """Ledger, topics, Delta and logs, and the oldest confirmation; a line of it in the terminal."""
    result = result_of(counts_of("a hop", matched=1))
    ledger = {"records": 3_075, "ends": {"order.events/0": 1_025}}
    positions = result["positions"] | {"ledger": ledger}
    page = render_page(result | {"positions": positions}, INPUT_TOPIC, OUTBOX_TOPICS)
    assert "3,075 records: <code>order.events/0</code> up to 1,025" in page
    assert "<code>topic</code> version 12" in page
    assert "the oldest at 2026-11-22 09:00:00 UTC, 60 minutes before this run" in page
    assert "none was given" in render_page(result, INPUT_TOPIC, OUTBOX_TOPICS)
    [line] = [line for line in render_text(result).splitlines() if line.startswith("complete")]
    assert line == (
        "complete for: no ledger; the input handled below 0:1,234,567; 7,654,321 offsets of all"
        " topics, in Delta up to version 12; logs up to slot 0/1"
    )
    nothing = result_of() | {"confirmed": None}
    assert "nothing was compared</dd>" in render_page(nothing, INPUT_TOPIC, OUTBOX_TOPICS)
    assert "complete" not in render_text(nothing)


def test_a_transaction_that_holds_the_horizon_back_is_named() -> None:
    """With its process, its application and since when; the verdict is good all the same."""
    holder = Holder("fulfillment", 4711, "psql", "2026-11-22 08:00:00")
    told = verdict_of([counts_of("a hop", matched=1)], holders=[holder])
    assert told["ok"]
    assert told["verdict"].endswith(
        "; a transaction of psql (pid 4711, database fulfillment), open since"
        " 2026-11-22 08:00:00 UTC, holds the horizon back"
    )
    result = result_of(counts_of("a hop", matched=1)) | {"held_by": [holder._asdict()]}
    page = render_page(result, INPUT_TOPIC, OUTBOX_TOPICS)
    assert "psql in database fulfillment, pid 4711, open since 2026-11-22 08:00:00 UTC" in page
    assert "held back" not in render_page(result | {"held_by": []}, INPUT_TOPIC, OUTBOX_TOPICS)


def test_what_is_not_checked_is_counted() -> None:
    """In verdict and page, and it leaves the verdict good; without any, not a word."""
    told = verdict_of([counts_of("a hop", matched=1)], not_checked=1_200)
    assert (told["ok"], told["verdict"]) == (
        True,
        "verdict: nothing lost, nothing doubled; 1,200 not checked",
    )
    result = result_of(counts_of("a hop", matched=1))
    page = render_page(result | {"not_checked": 1_200}, INPUT_TOPIC, OUTBOX_TOPICS)
    assert "1,200 ids, with which nothing is left to compare" in page
    assert "with which nothing" not in render_page(result, INPUT_TOPIC, OUTBOX_TOPICS)
