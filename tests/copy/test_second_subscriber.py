"""A second subscriber with a contract of its own, as an extra that a copy writes itself.

The files in second_subscriber/ are all that is added. It reads what the first one reads, and writes
its own rows and events in the same database.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.client import until
from tests.copy.copies import PORTS, Copy, make_copy

pytestmark = pytest.mark.prove

BY_HAND = Path(__file__).parent / "second_subscriber"
SECOND = {"SCREENING": "true", "SCREENING_PORT": str(PORTS + 6)}
RECORDS = 300
HOPS = ("screened → screening", "screened → payment-screened", "outbox → screening.events")


@pytest.fixture(scope="module")
def service(
    template: Path, cache: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Copy]:
    """Return a copy with the second subscriber; whatever it started is stopped."""
    copy = make_copy(template, tmp_path_factory.mktemp("second") / "payments", cache)
    shutil.copytree(BY_HAND, copy.path, dirs_exist_ok=True)
    yield copy
    copy.pipeline("down")


def handled(service: Copy) -> dict[str, tuple[int, int]]:
    """Return how many messages and dead letters each subscriber has."""
    counts = """
        select
            who.subscriber,
            (select count(*) from tracking where tracking.subscriber = who.subscriber),
            (select count(*) from dead_letter where dead_letter.subscriber = who.subscriber)
        from (values ('booking'), ('screening')) as who (subscriber)
    """
    with service.connect() as connection:
        rows = connection.execute(counts).fetchall()
    return {subscriber: (messages, letters) for subscriber, messages, letters in rows}


def test_lint_types_and_unit_tests_pass(service: Copy) -> None:
    """Nothing of the first subscriber is changed, and all guards are content."""
    done = service.make("lint", "unit", timeout=900)
    assert done.code == 0, done.output


def test_both_handle_each_message_once_and_are_judged(service: Copy) -> None:
    """Both have every message and every dead letter; the verdict of the first holds for both."""
    up = service.pipeline("up", **SECOND)
    assert up.code == 0, up.output
    sent = service.pipeline("produce", "--payments", str(RECORDS), **SECOND)
    assert sent.code == 0, sent.output
    until(
        lambda: handled(service),
        lambda seen: seen["booking"] == seen["screening"] and seen["booking"][0] >= RECORDS,
        60,
        "the two have not handled the same",
    )
    assert handled(service)["screening"][1] > 0
    code, judged = service.reconcile(**SECOND)
    assert code == 0, judged["findings"]
    hops = {hop["hop"]: hop["matched"] for hop in judged["hops"]}
    assert {hops[name] for name in HOPS} == {handled(service)["screening"][0]}


def test_control_a_row_that_the_second_has_lost_is_found(service: Copy) -> None:
    """One row of screening is taken away, and found by its message."""
    with service.connect() as connection:
        deleted: Any = connection.execute(
            "delete from screening where message_id = (select min(message_id) from screening)"
            " returning message_id"
        ).fetchone()
    code, judged = service.reconcile(**SECOND)
    assert code == 1
    found = {(finding["hop"], finding["outcome"], finding["id"]) for finding in judged["findings"]}
    assert found == {(HOPS[0], "missing", deleted[0])}
