"""One pattern after the other, on the same data: ADOPT=consumer, then outbox, then all.

Each step is what docs/adopt.md says of it: what it gives, and what it still leaves open.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ops.settings import ROOT
from ops.stack.stack import Stack
from tests.builders import value
from tests.client import (
    Sent,
    counts,
    exactly_one,
    fresh,
    of,
    query,
    send,
    until,
    until_handled,
    until_published,
)
from tests.stacks import PORTS, RUN, running, within

pytestmark = pytest.mark.prove
NOT_MARKED = "select count(*) from tracking where audited_at is null"
PIPELINE = str(Path(sys.executable).with_name("pipeline"))


@contextmanager
def adopted(monkeypatch: pytest.MonkeyPatch, adopt: str, *, anew: bool = False) -> Iterator[Stack]:
    """Run a part of the path, on what the part before has left."""
    with running(f"{RUN}-adopt", PORTS + 200, anew=anew, adopt=adopt) as stack:
        yield within(stack, monkeypatch)


def deliver_three_times() -> str:
    """Send a message three times, each after the last one was handled; return its id."""
    sent = Sent(fresh("m"), "o", value(fresh("o")))
    for _ in range(3):
        send([sent])
        until_handled()
    return str(sent.message_id)


def pipeline(stack: Stack, adopt: str, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run a command as a user does."""
    env = stack.env() | {"ADOPT": adopt, "ATTACH": "true", "RUN_DIR": str(stack.settings.run_dir)}
    command = [PIPELINE, *words]
    return subprocess.run(
        command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=300, check=False
    )


def test_one_pattern_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step handles a message once; what a step has not yet is not there, and comes with it.

    Events from before the outbox are sent again. What was not posted is missing, an entry and a
    mark for each of two messages, until a repair posts it; then everything is there once.
    """
    with adopted(monkeypatch, "consumer", anew=True) as stack:
        first = deliver_three_times()
        found = counts([first])
        assert found["tracking"][first] == found["fulfillment"][first] == 1
        assert found["audit_entry"][first] == 0
        assert query("select slot_name from pg_replication_slots") == []
        refused = pipeline(stack, "consumer", "reconcile")
        assert refused.returncode == 2
        assert "ADOPT=consumer" in refused.stderr

    with adopted(monkeypatch, "outbox") as stack:
        second = deliver_three_times()
        assert len(until_published("fulfillment.events", of(second), 1)) == 1
        resent = pipeline(stack, "outbox", "outbox", "resend", "--since", "1h", "--missing")
        assert resent.returncode == 0, resent.stderr
        assert len(until_published("fulfillment.events", of(first), 1)) == 1
        assert counts([second])["audit_entry"][second] == 0

    with adopted(monkeypatch, "all") as stack:
        third = deliver_three_times()
        exactly_one([third])
        missing = pipeline(stack, "all", "reconcile", "--land")
        assert missing.returncode == 1
        assert "verdict: 4 missing" in missing.stdout
        repaired = pipeline(stack, "all", "repair", "--apply")
        assert repaired.returncode == 0, repaired.stderr
        until(lambda: query(NOT_MARKED), lambda left: left == [(0,)], 60, "not all is posted")
        good = pipeline(stack, "all", "reconcile", "--land")
        assert "verdict: nothing lost, nothing doubled" in good.stdout, good.stdout
        exactly_one([first, second, third])
