"""The ground of a horizon: what may change below it, and what may not."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from contract.names import AUDIT_DATABASE, DATABASE, INPUT_TOPIC
from spark.judging.horizon import (
    Horizon,
    JudgeAllError,
    NotCheckedError,
    Version,
    describe_confirmation,
    is_new,
    parse_horizon,
    reason_to_judge_all,
    refuse_other_databases,
    refuse_other_tables,
    refuse_other_topics,
)
from spark.judging.shares import Share, Sum, changed_parts, find_due, list_deleted, merge
from spark.retiring.confirmed import note_deleted
from spark.rows.snapshot import Moment
from spark.run_id import RUN_ID

FULFILLMENTS = "fulfillment.events"
MOMENT = Moment("0/1000", "700:705:701,703", "7000", 1)
AN_HOUR_AGO = (datetime.now(UTC) - timedelta(hours=1)).strftime(RUN_ID)
SHARE = Share(DATABASE, 0, 700, AN_HOUR_AGO, 24, {"tracking": Sum(10, 1, -2)})


def make_horizon(**changes: Any) -> Horizon:
    """A horizon of an hour ago, with some values changed."""
    horizon = Horizon(
        run_id=AN_HOUR_AGO,
        full_run_id=AN_HOUR_AGO,
        runs_since_full=3,
        orders=1_000_000,
        judge_all="",
        moments={DATABASE: MOMENT},
        read_from={DATABASE: 700},
        versions={INPUT_TOPIC: Version("table", 5)},
        topic_ids={INPUT_TOPIC: "topic"},
        ends={f"{INPUT_TOPIC}/0": 100},
        forgotten={},
        losses=0,
        shares=[SHARE],
        not_checked=2,
    )
    return horizon._replace(**changes)


def reason(horizon: Horizon | None) -> str | None:
    """Why everything is judged, with the default settings."""
    return reason_to_judge_all(horizon, all_every=24, all_orders=200_000, keep_hours=168)


def test_a_run_that_must_confirm_everything_judges_everything() -> None:
    """RECONCILE_ALL_EVERY=1 has one meaning: each run judges everything."""
    once = reason_to_judge_all(make_horizon(), all_every=1, all_orders=0, keep_hours=168)
    assert once == "RECONCILE_ALL_EVERY is 1"


def test_a_run_starts_from_the_last_one() -> None:
    """Nothing has changed: what came since is judged."""
    assert reason(make_horizon()) is None


@pytest.mark.parametrize(
    ("horizon", "sentence"),
    [
        (None, "no earlier run"),
        (make_horizon(orders=199_999), "199,999 orders, fewer than 200,000"),
        (make_horizon(shares=None), "not noted what the old adds up to"),
        (make_horizon(judge_all="a part was behind"), "a part was behind"),
        (make_horizon(run_id="20250101T000000.000000Z"), "days ago"),
    ],
)
def test_everything_is_judged_for_a_reason(horizon: Horizon | None, sentence: str) -> None:
    """A run that judges everything says why."""
    assert sentence in str(reason(horizon))


@pytest.mark.parametrize(
    ("moment", "sentence"),
    [
        (MOMENT._replace(system="8000"), "another server"),
        (MOMENT._replace(timeline=2), "failed over or was restored"),
        (MOMENT._replace(transactions="600:604:"), "gone back in time"),
    ],
)
def test_another_database_is_not_checked(moment: Moment, sentence: str) -> None:
    """A database that is no later state of the one that was judged."""
    with pytest.raises(NotCheckedError, match=sentence):
        refuse_other_databases(make_horizon(), {DATABASE: moment})


def test_a_later_state_is_checked() -> None:
    """The same database, topics and tables, with more in them."""
    later = MOMENT._replace(transactions="900:900:", lsn="0/2000")
    refuse_other_databases(make_horizon(), {DATABASE: later})
    refuse_other_topics(make_horizon(), {INPUT_TOPIC: "topic"}, {f"{INPUT_TOPIC}/0": 101})
    refuse_other_tables(make_horizon(), {INPUT_TOPIC: Version("table", 6)})


def test_another_topic_is_not_checked() -> None:
    """A topic that was created again, or one that ends before what was judged."""
    with pytest.raises(NotCheckedError, match="deleted and created again"):
        refuse_other_topics(make_horizon(), {INPUT_TOPIC: "other"}, {})
    with pytest.raises(NotCheckedError, match="lost the offsets up to 100"):
        refuse_other_topics(make_horizon(), {INPUT_TOPIC: "topic"}, {f"{INPUT_TOPIC}/0": 99})


def test_another_table_is_not_checked() -> None:
    """A landed table that was made again, or that was put back."""
    for version in (Version("other", 9), Version("table", 4)):
        with pytest.raises(NotCheckedError, match="was replaced"):
            refuse_other_tables(make_horizon(), {INPUT_TOPIC: version})


def test_what_was_not_judged_before_takes_a_look_at_everything() -> None:
    """A topic that the copy did not have at the horizon."""
    with pytest.raises(JudgeAllError, match="topic new was not judged before"):
        refuse_other_topics(make_horizon(), {"new": "id"}, {})


def test_a_row_is_new_by_its_transaction() -> None:
    """One that was running at the horizon is new, and one that began after it."""
    assert is_new(MOMENT) == "coalesce(written_by >= 705 or written_by in (701,703), false)"
    quiet = MOMENT._replace(transactions="705:705:")
    assert is_new(quiet) == "coalesce(written_by >= 705, false)"


def test_a_horizon_is_read_as_it_was_written() -> None:
    """Its JSON brings back the same."""
    horizon = make_horizon()
    assert parse_horizon(json.dumps(horizon._asdict())) == horizon


def share_of(first: int, stop: int, **changes: Any) -> Share:
    """A share of the old with ten rows, confirmed an hour ago."""
    return SHARE._replace(first=first, stop=stop, **changes)


def test_all_shares_are_confirmed_within_so_many_runs() -> None:
    """Whatever their number: each of 24 runs confirms those that are due, and none twice."""
    shares = [share_of(n, n + 1, due=n) for n in range(1, 25)]
    for run in range(1, 25):
        assert [share.due for share in find_due(shares, run)] == [*range(1, run + 1)]


def test_small_neighbours_become_one_share() -> None:
    """A year of hourly runs leaves few shares; one is due as soon as its oldest part.

    Control: shares that are large, or of which one does not go on where the other ends, stay.
    """
    old = share_of(0, 1_000, sums={"tracking": Sum(10_000, 5, 7)})
    hours = [
        share_of(n, n + 1, due=n, sums={"tracking": Sum(1, n, 1)}) for n in range(1_000, 9_760)
    ]
    shares = merge([*hours, old], runs=24)
    assert len(shares) <= 48
    assert sum(share.rows() for share in shares) == 18_760
    assert shares[0] == old
    assert shares[1].due == 1_000
    assert shares[1].sums["tracking"].first == sum(n for n in range(1_000, shares[1].stop))
    apart = [share_of(0, 10), share_of(20, 30)]
    assert merge(apart, runs=1) == apart


@pytest.mark.parametrize(
    ("found", "changed"),
    [
        ({"tracking": Sum(10, 1, -2)}, []),
        ({"tracking": Sum(9, 1, -2)}, ["tracking"]),
        ({"tracking": Sum(10, 1, -3)}, ["tracking"]),
        ({}, ["tracking"]),
        ({"tracking": Sum(10, 1, -2), "fulfillment": Sum(1, 0, 0)}, ["fulfillment"]),
    ],
)
def test_a_share_is_confirmed_if_it_adds_up_to_the_same(
    found: dict[str, Sum], changed: list[str]
) -> None:
    """A row more, one less, or another value is a change, and so is a part that was not there."""
    assert list(changed_parts(SHARE, found, {})) == changed


def test_what_may_change_lawfully_is_no_change() -> None:
    """Fewer rows wait for the receiver's answer; events that retention deleted have their note."""
    waiting = "tracking without the receiver's answer"
    events = f"outbox of {FULFILLMENTS}"
    share = share_of(100, 200, sums={waiting: Sum(3, 0, 0), events: Sum(7, 1, 1)})
    fewer = {waiting: Sum(2, 0, 0), events: Sum(7, 1, 1)}
    assert list(changed_parts(share, fewer, {})) == []
    assert list(changed_parts(share, fewer | {waiting: Sum(4, 0, 0)}, {})) == [waiting]

    assert list(changed_parts(share, {waiting: Sum(3, 0, 0)}, {})) == [events]
    retired = {(DATABASE, events): 101}
    assert list(changed_parts(share, {waiting: Sum(3, 0, 0)}, retired)) == []
    retired = {(DATABASE, events): 100}
    assert list(changed_parts(share, {waiting: Sum(3, 0, 0)}, retired)) == [events]


def test_what_retention_has_deleted_is_no_change() -> None:
    """Where it has noted that tracking rows went, others of this share may be missing, too."""
    for before, changed in ((1, []), (0, ["tracking"])):
        horizon = note_deleted(make_horizon(), DATABASE, "tracking", before)
        assert list(changed_parts(SHARE, {}, list_deleted(horizon.deleted_before))) == changed


def test_a_later_retention_adds_to_what_is_noted() -> None:
    """Each part of each database keeps the latest transaction; the horizon is else as it was."""
    horizon = note_deleted(make_horizon(), DATABASE, "tracking", 7)
    horizon = note_deleted(horizon, DATABASE, "tracking", 5)
    horizon = note_deleted(horizon, AUDIT_DATABASE, "audit entry", 9)
    assert horizon.deleted_before == {
        DATABASE: {"tracking": 7},
        AUDIT_DATABASE: {"audit entry": 9},
    }
    assert horizon._replace(deleted_before=None) == make_horizon()


def test_the_oldest_confirmation_counts() -> None:
    """Of many shares, the one that was confirmed longest ago says how old the calm is."""
    now = "20261122T100000.000000Z"
    shares = [
        share_of(0, 1, confirmed="20261122T090000.000000Z"),
        share_of(1, 2, confirmed="20261122T070000.000000Z"),
    ]
    told = describe_confirmation(now, shares)
    assert told == {"oldest_at": "2026-11-22 07:00:00", "age_seconds": 10_800}
    assert describe_confirmation(now, [])["age_seconds"] == 0
