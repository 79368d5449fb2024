"""The ground of a horizon: what may change below it, and what may not."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from contract.names import DATABASE, INPUT_TOPIC
from spark.horizon import (
    RUN_ID,
    Horizon,
    JudgeAllError,
    NotCheckedError,
    Version,
    is_new,
    parse_horizon,
    reason_to_judge_all,
    refuse_other_databases,
    refuse_other_tables,
    refuse_other_topics,
)
from spark.snapshot import Moment

MOMENT = Moment("0/1000", "700:705:701,703", "7000", 1)


def make_horizon(**changes: Any) -> Horizon:
    """A horizon of an hour ago, with some values changed."""
    an_hour_ago = (datetime.now(UTC) - timedelta(hours=1)).strftime(RUN_ID)
    horizon = Horizon(
        run_id=an_hour_ago,
        full_run_id=an_hour_ago,
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
    )
    return horizon._replace(**changes)


def reason(horizon: Horizon | None) -> str | None:
    """Why everything is judged, with the default settings."""
    return reason_to_judge_all(horizon, all_every=24, all_orders=200_000, keep_hours=168)


def test_a_run_starts_from_the_last_one() -> None:
    """Nothing has changed: what came since is judged."""
    assert reason(make_horizon()) is None


@pytest.mark.parametrize(
    ("horizon", "sentence"),
    [
        (None, "no earlier run"),
        (make_horizon(orders=199_999), "199,999 orders, fewer than 200,000"),
        (make_horizon(runs_since_full=23), "one run in 24"),
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
