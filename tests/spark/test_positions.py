"""Decisions that need no Spark: where landing starts, when it is settled, what the verdict is."""

import json
import time
from collections.abc import Mapping
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from spark.hops import make_hops
from spark.judging import standstill
from spark.judging.standstill import Behind, Patience, hops_behind
from spark.kafka.positions import LATEST, landing_behind, not_landed, offsets_at, starting_offsets
from spark.reporting.report import COUNTS, describe_reach, render_text, sort_by_path, verdict_of

Request = Mapping[Any, Any]


def hop(name: str, **counts: int) -> dict[str, object]:
    """The counts of a hop, 0 unless said otherwise."""
    return {"hop": name, **dict.fromkeys([*COUNTS, "matched", "waiting"], 0), **counts}


def test_starting_offsets_name_every_partition() -> None:
    """Spark wants each partition of each topic, or it starts none."""
    start = {("a", 0): 8, ("a", 1): 0, ("b", 0): 3}
    assert json.loads(starting_offsets(start)) == {"a": {"0": 8, "1": 0}, "b": {"0": 3}}


class LeaderlessAdmin:
    """Answers like the client of a broker whose partition has no leader for a while."""

    def __init__(self, refusals: list[int]) -> None:
        self.refusals = refusals

    def list_offsets(self, request: Request, **_: object) -> Request:
        """Refuse as long as there is a refusal, then say 7."""
        [partition] = request
        answer: Future[SimpleNamespace] = Future()
        if self.refusals:
            answer.set_exception(KafkaException(KafkaError(self.refusals.pop())))
        else:
            answer.set_result(SimpleNamespace(offset=7))
        return {partition: answer}


def ask(refusals: list[int]) -> dict[tuple[str, int], int]:
    """The offsets that such a client gets."""
    admin = cast("AdminClient", LeaderlessAdmin(refusals))
    return offsets_at(admin, [("a", 0)], LATEST)


def test_a_partition_that_has_no_leader_yet_is_asked_again() -> None:
    """Landing does not end because a topic was made a moment ago; what lasts is an error."""
    for_a_moment = [KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE]
    assert ask(for_a_moment) == {("a", 0): 7}
    with pytest.raises(KafkaException):
        ask([KafkaError.TOPIC_AUTHORIZATION_FAILED])


@pytest.mark.parametrize(
    ("landed", "waiting", "behind"),
    [
        ({("a", 0): range(8), ("a", 1): range(2, 5)}, 0, ""),
        (
            {("a", 0): range(7), ("a", 1): range(2, 5)},
            1,
            "a/0 has landed up to 7 of 8: is land running?",
        ),
        ({("a", 0): range(8)}, 3, "a/1 has landed up to 2 of 5: is land running?"),
    ],
)
def test_landing_is_behind_until_every_partition_has_come_to_its_end(
    landed: dict[tuple[str, int], range], waiting: int, behind: str
) -> None:
    """Neither empty partitions nor records that were deleted before they landed are waited for."""
    there = {("a", 0): range(8), ("a", 1): range(2, 5), ("b", 0): range(4, 4)}
    left = not_landed(landed, there)
    assert sum(map(len, left.values())) == waiting
    assert landing_behind(left) == behind


class Advancing:
    """A hop that advances by one at each look, up to an offset; behind until it has all ten."""

    def __init__(self, up_to: int) -> None:
        self.up_to = up_to
        self.offset = 0

    def behind(self) -> str:
        """Look at it."""
        if self.offset < self.up_to:
            self.offset += 1
        return "" if self.offset == 10 else f"it is at {self.offset}"


@pytest.mark.parametrize(
    ("up_to", "sentence"), [(10, ""), (3, "it is at 3")], ids=["advances", "stops at 3"]
)
def test_what_advances_is_waited_for_and_what_stands_still_is_not(
    monkeypatch: pytest.MonkeyPatch, up_to: int, sentence: str
) -> None:
    """As long as the position moves, the wait goes on; once it has stood still, it is behind."""
    monkeypatch.setattr(standstill, "POLL_SECONDS", 0.02)
    hop = Advancing(up_to)
    patience = Patience(deadline=time.monotonic() + 30, standstill_seconds=0.2)
    began = time.monotonic()
    assert patience.wait_until_settled(hop.behind) == sentence
    assert time.monotonic() - began < 10


def test_a_deadline_ends_the_wait_for_what_still_advances() -> None:
    """What has not settled at the deadline is behind, however fast it moves."""
    hop = Advancing(up_to=9)
    patience = Patience(deadline=time.monotonic(), standstill_seconds=60)
    assert patience.wait_until_settled(hop.behind) == "it is at 1"


def test_a_hop_is_named_with_what_waits_in_it() -> None:
    """Each hop with waiting ids, with their count and since when; else the one that is meant."""
    waiting = hop("x", waiting=2_000, late=2_500) | {"waiting_since": "2026-11-21 10:00:00"}
    idle = hop("y", late=7)
    [behind] = hops_behind([waiting, idle], "y", "x/0 is at 3")
    assert str(behind) == "x, 2,000 wait since 2026-11-21 10:00:00 UTC"
    assert behind.where == "x/0 is at 3"
    [uncommitted] = hops_behind([idle], "y", "x/0 is at 3")
    assert str(uncommitted) == "y, 7 wait"


def test_verdict_says_what_is_wrong() -> None:
    """Each kind of defect is counted over all hops; what moves or is parked is no defect."""
    clean = hop("tracking → outbox", matched=3)
    good = "verdict: nothing lost, nothing doubled"
    assert verdict_of([clean]) == {"ok": True, "behind": [], "verdict": good}
    late = verdict_of([clean | {"late": 1_234}])
    assert late == {"ok": True, "behind": [], "verdict": f"{good}; 1,234 on their way"}
    parked = verdict_of([clean | {"parked": 12}])
    assert parked == {"ok": True, "behind": [], "verdict": f"{good}; 12 parked behind dead letters"}
    wrong = [clean, hop("x", missing=1, different=2), hop("y", missing=1)]
    told = verdict_of(wrong)
    assert (told["ok"], told["verdict"]) == (False, "verdict: 2 missing, 2 different")


def test_verdict_names_what_stands_still() -> None:
    """A hop that is behind is not well, with and without a defect beside it."""
    stuck = [Behind("x", 2_000, "2026-11-21 10:00:00", "x/0 is at 3"), Behind("y", 3, None, "")]
    told = verdict_of([hop("x", late=2_000)], stuck)
    named = "behind: x, 2,000 wait since 2026-11-21 10:00:00 UTC; y, 3 wait"
    assert (told["ok"], told["verdict"]) == (False, f"verdict: {named}")
    assert told["behind"][0]["where"] == "x/0 is at 3"
    told = verdict_of([hop("x", late=2_000, missing=1)], stuck)
    assert (told["ok"], told["verdict"]) == (False, f"verdict: 1 missing; {named}")


def test_text_ends_with_the_verdict() -> None:
    """A row for each hop along the path, the findings, the page's path, and last the verdict."""
    finding = {
        "hop": "tracking → outbox",
        "id": "m-1",
        "outcome": "missing",
        "detail": "did not come out",
    }
    path = [hop.name for hop in make_hops("order.events")]
    hops = sort_by_path([hop("outbox → audit.events"), hop("tracking → outbox", missing=1)], path)
    result = {**verdict_of(hops), "hops": hops, "findings": [finding], "report": "r.html"}
    result |= {"accepted_losses": [], "failed_repairs": []}
    positions = {"committed": {0: 7}, "log": {"slot": "0/1"}, "ends": {"order.events/0": 7}}
    result["positions"] = positions | {"ledger": None, "delta": {"order.events": 3}}
    text = render_text(result).splitlines()
    assert [line.split("  ")[0] for line in text[2:4]] == [
        "tracking → outbox",
        "outbox → audit.events",
    ]
    assert text[4:] == [
        "missing: m-1 in tracking → outbox: did not come out",
        describe_reach(result["positions"]),
        "report: r.html",
        "verdict: 1 missing",
    ]
