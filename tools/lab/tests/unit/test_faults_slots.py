"""When a slot counts as silent: only several looks at a position tell."""

from lab.faults.slots import SilenceWatch

SECONDS = 40.0


def test_a_slot_that_stands_still_is_told_after_a_while() -> None:
    """The same position for long, with something to read behind it."""
    watch = SilenceWatch(SECONDS)
    rows = [("audit_outbox", "0/10", True), ("fulfillment_outbox", "0/10", True)]
    assert watch.note(rows, now=0) == []
    assert watch.note(rows, now=SECONDS) == []
    moved = [("audit_outbox", "0/11", True), ("fulfillment_outbox", "0/10", True)]
    assert watch.note(moved, now=SECONDS + 1) == ["fulfillment_outbox"]


def test_control_a_slot_with_nothing_to_read_may_stand() -> None:
    """It is not behind, or it has moved, or it was away in between."""
    watch = SilenceWatch(SECONDS)
    for moment in range(0, 200, 10):
        assert watch.note([("idle", "0/10", False)], now=moment) == []
    for moment in range(0, 200, 10):
        assert watch.note([("moving", f"0/{moment}", True)], now=moment) == []
    for moment in range(0, 200, 60):
        assert watch.note([("away", "0/10", True)], now=moment) == []
        assert watch.note([], now=moment + 30) == []
