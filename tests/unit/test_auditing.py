"""The poll budget of a batch that takes many requests."""

import math
from collections.abc import Sequence

import pytest
from sqlalchemy import create_engine

from contract.events import ACCEPTED
from service import auditing
from service.auditing import POLL_AFTER_SECONDS, make_audit_steps
from service.handler import split_conflicts
from service.outage import Retry
from service.post import Answers, AuditItem, Entry
from service.record import Message
from service.request import Receiver
from service.settings import Settings
from tests.builders import record

SETTINGS = Settings(audit_mode="single")
SLOWEST_POST = 2 * SETTINGS.audit_timeout_seconds  # it connects, and then answers


class Clock:
    """The time, and when the group was polled."""

    def __init__(self) -> None:
        self.now = 0.0
        self.last_poll = 0.0
        self.waits_for = ""
        self.longest_silence = 0.0

    def monotonic(self) -> float:
        """Return the time."""
        return self.now

    def idle(self, _seconds: float) -> None:
        """Poll."""
        self.measure()
        self.last_poll = self.now

    def measure(self) -> None:
        """Note how long the group has not been polled."""
        silence = self.now - self.last_poll
        self.longest_silence = max(silence, self.longest_silence)

    def post_slowly(self, _receiver: Receiver, items: Sequence[AuditItem]) -> Answers:
        """Take an item, as slowly as the timeouts allow."""
        self.now += SLOWEST_POST
        return {item.message_id: None for item in items}


def post_one_by_one(monkeypatch: pytest.MonkeyPatch, count: int) -> float:
    """Post this many entries, and return how long the group was not polled."""
    clock = Clock()
    monkeypatch.setattr(auditing, "time", clock)
    monkeypatch.setattr(auditing, "post_single", clock.post_slowly)
    retry = Retry(clock.idle, first_seconds=0, cap_seconds=0)
    engine = create_engine("postgresql+psycopg://")  # nothing is asked
    steps = make_audit_steps(SETTINGS, engine, clock, retry)
    [items] = split_conflicts([record(f"m-{n}") for n in range(count)])
    entries = [Entry(item, ACCEPTED) for item in items if isinstance(item, Message)]
    assert len(steps.post(entries)) == count
    clock.measure()
    return clock.longest_silence


def test_the_group_is_polled_between_slow_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many requests a batch takes, the poll budget holds what is between two polls."""
    longest = post_one_by_one(monkeypatch, SETTINGS.batch_records)
    assert SLOWEST_POST <= longest <= POLL_AFTER_SECONDS + SLOWEST_POST
    assert longest < SETTINGS.worst_batch_seconds


def test_control_without_polls_slow_requests_cost_the_partitions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A batch of such requests takes longer than the group would wait."""
    monkeypatch.setattr(auditing, "POLL_AFTER_SECONDS", math.inf)
    longest = post_one_by_one(monkeypatch, SETTINGS.batch_records)
    assert longest > SETTINGS.max_poll_interval_ms / 1000


def test_without_a_receiver_nothing_is_posted_and_nobody_waits() -> None:
    """AUDIT_MODE=none: every entry counts as answered, no row is marked, no database is asked."""
    clock = Clock()
    engine = create_engine("postgresql+psycopg://127.0.0.1:1/nobody")
    retry = Retry(clock.idle, first_seconds=0, cap_seconds=0)
    steps = make_audit_steps(Settings(audit_mode="none"), engine, clock, retry)
    [[message]] = split_conflicts([record()])
    assert isinstance(message, Message)
    answers = steps.post([Entry(message, ACCEPTED)])
    assert steps.mark(answers) == {message.message_id}
    steps.repeat()
