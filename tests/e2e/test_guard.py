"""The guard on real parts: it restarts what has failed, and says what is silent."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from signal import Signals

import psutil
import pytest
import requests
from psycopg import sql

from ops.guard.command import SILENCE_SECONDS, Guard, free_seat, look_for_a_while
from ops.guard.findings import Finding
from ops.stack.database import login
from ops.stack.stack import Stack
from ops.status import status
from tests.client import exactly_one, until, until_handled
from tests.e2e.test_outages import assert_all_published
from tests.load import orders

CONNECTOR = "fulfillment-outbox"
SOON_SECONDS = 10.0


def states(stack: Stack) -> list[str]:
    """Return the states of the connector's tasks."""
    url = f"{stack.env()['CONNECT_URL']}/connectors/{CONNECTOR}/status"
    return [task["state"] for task in requests.get(url, timeout=10).json()["tasks"]]


def until_states(stack: Stack, wanted: str) -> None:
    """Wait until its task is like this."""
    until(lambda: states(stack), lambda found: found == [wanted], 60, f"no task is {wanted}")


def restart_task(stack: Stack) -> None:
    """Restart it, as somebody who does not know why it will fail."""
    url = f"{stack.env()['CONNECT_URL']}/connectors/{CONNECTOR}/tasks/0/restart"
    requests.post(url, timeout=10).raise_for_status()


@contextmanager
def other_password(stack: Stack) -> Iterator[Callable[[], None]]:
    """Give cdc another password than Connect has; yield what gives it the right one again."""
    right = (stack.settings.secrets_dir / "cdc_password").read_text().strip()

    def set_password(password: str) -> None:
        with login(stack.settings) as connection:
            text = sql.Literal(password)
            connection.execute(sql.SQL("alter role cdc password {}").format(text))

    set_password("another")
    try:
        yield lambda: set_password(right)
    finally:
        set_password(right)


def look_until(
    guard: Guard, done: Callable[[list[Finding]], bool], seconds: float, *, acts: bool = True
) -> float:
    """Let the guard look until this is true of what it finds; return after how many seconds."""
    began = time.monotonic()

    def look() -> list[Finding]:
        return guard.look_once(acts=acts)

    until(look, done, seconds, "the guard does not find it")
    return time.monotonic() - began


def has(name: str) -> Callable[[list[Finding]], bool]:
    """Return whether there is a finding of this name."""
    return lambda findings: name in {finding.name for finding in findings}


def moves(findings: list[Finding]) -> bool:
    """Return whether all is well, apart from what other tests of this stack had refused."""
    return not [finding for finding in findings if finding.name != "refused"]


@pytest.mark.parametrize("acts", [True, False])
def test_a_failed_task_is_restarted(spoiled: Stack, acts: bool) -> None:
    """Once the cause is gone it runs again, and every event comes.

    Control: a guard that only watches says it, and the task stays as it is.
    """
    said: list[str] = []
    guard = Guard(spoiled.env(), said.append)
    until_states(spoiled, "RUNNING")
    with other_password(spoiled) as mend:
        restart_task(spoiled)
        until_states(spoiled, "FAILED")
        assert look_until(guard, has("task_failed"), SOON_SECONDS, acts=acts) < SOON_SECONDS
        ids = orders(10)
        mend()
        if acts:
            until(
                lambda: (guard.look_once(acts=True), states(spoiled))[1],
                lambda found: found == ["RUNNING"],
                60,
                "the task does not run",
            )
        else:
            with suppress(AssertionError):
                look_until(guard, lambda findings: not has("task_failed")(findings), 12, acts=False)
            assert states(spoiled) == ["FAILED"]
            restart_task(spoiled)
    until_handled()
    exactly_one(ids)
    assert_all_published(ids)
    is_said = any("is restarted" in line for line in said)
    assert is_said is acts


def test_a_slot_that_nobody_reads_is_found_within_two_heartbeats(spoiled: Stack) -> None:
    """Connect is there, and stands still: its tasks cannot be asked, and the slot is silent."""
    said: list[str] = []
    guard = Guard(spoiled.env(), said.append)
    look_until(guard, moves, 30)
    spoiled.kill("connect", Signals.SIGSTOP)
    try:
        look_until(guard, has("slot_silent"), 2 * SOON_SECONDS)
    finally:
        spoiled.kill("connect", Signals.SIGCONT)
    look_until(guard, moves, 60)
    assert any(line.startswith("over: slot fulfillment_outbox is silent") for line in said)


def test_of_two_guards_one_acts(spoiled: Stack) -> None:
    """The other takes over when it is gone."""
    first = free_seat(spoiled.env()).take()
    second = free_seat(spoiled.env()).take()
    assert (first.session is None, second.session is None) == (False, True)
    assert first.session is not None
    first.session.close()
    taken = until(second.take, lambda seat: seat.session is not None, 10, "nobody acts")
    assert taken.session is not None
    taken.session.close()


@contextmanager
def frozen_postgres(stack: Stack) -> Iterator[None]:
    """Freeze the server and all of its processes for the time of a block."""
    server = stack.supervisor.identity("postgres")
    assert server, "no postgres runs"
    processes = [psutil.Process(server.pid), *psutil.Process(server.pid).children()]
    for process in processes:
        process.suspend()
    try:
        yield
    finally:
        for process in processes:
            process.resume()


def test_a_server_that_hangs_is_said_and_does_not_hang_the_guard(spoiled: Stack) -> None:
    """Although it has a connection that nobody answers: it gives its seat up and looks on."""
    guard = Guard(spoiled.env(), lambda _line: None)
    seat = free_seat(spoiled.env()).take()
    assert seat.session is not None
    with frozen_postgres(spoiled):
        began = time.monotonic()
        lost = seat.take()
        assert lost.session is None
        assert "no_answer" in {finding.name for finding in guard.look_once(acts=False)}
        state = status(spoiled)
        assert time.monotonic() - began < SILENCE_SECONDS
    assert (state["slots"], state["refused"]) == (None, None)
    again = until(lost.take, lambda one: one.session is not None, 10, "nobody acts")
    assert again.session is not None
    again.session.close()


def test_a_pipeline_that_is_well_has_no_finding(spoiled: Stack) -> None:
    """`pipeline guard --once` watches for ten seconds, and finds nothing."""
    assert moves(look_for_a_while(spoiled.env()))
