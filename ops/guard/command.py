"""Looks again and again, restarts what has failed, and says what is not well and what is over."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, NoReturn

import psycopg
import requests
from psycopg.conninfo import make_conninfo

from access.connect import connect_session
from ops.guard import metrics
from ops.guard.findings import SILENT_SECONDS, Finding, Seen, judge
from ops.guard.look import SOON, Counts, Look, Task, count, look
from ops.guard.pulse import Pulses
from ops.guard.restarts import PAUSES, Restarts
from ops.settings import Env
from ops.trace.databases import read_password
from service.health import serve

# Of several guards, the one that has this lock restarts tasks; PostgreSQL frees it when it is gone.
LOCK = "select pg_try_advisory_lock(hashtext('guard')) as is_ours"
LOOK_SECONDS = 2.0
COUNT_SECONDS = 30.0
NOTHING = Counts(lag=None, bursts=None, landing=None, runs=None)
SILENCE_SECONDS = 30.0  # above a look at which nobody answers
ONCE_SECONDS = SILENT_SECONDS + 2 * LOOK_SECONDS  # to know whether a slot moves

Say = Callable[[str], None]


class Seat(NamedTuple):
    """The connection that holds the lock."""

    address: str
    session: psycopg.Connection | None

    def take(self) -> "Seat":
        """Return the seat, taken if it is free; without a session while Postgres is away."""
        try:
            session = psycopg.connect(self.address, autocommit=True)
            if self.session is not None:
                session.close()  # a server that hangs has not let it in: do not ask it for ever
                self.session.execute("select")  # whoever is still there still has the lock
                return self
            [is_ours] = session.execute(LOCK).fetchone() or [False]
        except psycopg.Error:
            if self.session is not None:
                self.session.close()
            return self._replace(session=None)
        if not is_ours:
            session.close()
        return self._replace(session=session if is_ours else None)


@dataclass
class Guard:
    """What the guard knows, from one look to the next."""

    env: Env
    say: Say
    seen: Seen = field(default_factory=Seen)
    restarts: dict[str, Restarts] = field(default_factory=dict)
    known: dict[tuple[str, str], Finding] = field(default_factory=dict)
    looked_at: float = 0.0
    counts: Counts = NOTHING
    counted_at: float = -COUNT_SECONDS - 1

    def answer(self, path: str) -> tuple[int, str]:
        """Return the status and the text for a path."""
        if path not in ("/livez", "/readyz"):
            return 404, "only /livez, /readyz and /metrics are here\n"
        silence = time.monotonic() - self.looked_at
        if silence > SILENCE_SECONDS:
            return 503, f"the last look was {silence:.0f} seconds ago\n"
        return 200, "ok\n"

    def look_once(self, *, acts: bool) -> list[Finding]:
        """Look, mend, and say what has changed."""
        if time.monotonic() - self.counted_at > COUNT_SECONDS:
            self.counts = count(self.env)
            self.counted_at = time.monotonic()
        found = look(self.env, self.counts)
        self.seen.see(found)
        findings = judge(found, self.seen)
        if acts:
            findings += self.mend(found)
        self.tell(findings)
        metrics.show(found, self.seen, findings, acts=acts)
        metrics.show_landing(self.counts.landing)
        metrics.show_runs(self.counts.runs)
        self.looked_at = time.monotonic()
        return findings

    def mend(self, found: Look) -> Iterator[Finding]:
        """Restart the tasks that have failed; yield those that were restarted often enough."""
        for task in found.tasks or ():
            restarts = self.restarts.setdefault(str(task), Restarts())
            if task.state != "FAILED":
                restarts.note_well(found.at)
            elif restarts.is_due(found.at):
                self.restart(task)
            elif restarts.is_given_up:
                yield Finding(
                    "task_given_up",
                    str(task),
                    f"{task} fails again and again: it was restarted {len(PAUSES)} times",
                    f"read why in the log of Connect, then POST {address(self.env, task)}",
                )

    def restart(self, task: Task) -> None:
        """Ask Connect to start it again."""
        url = address(self.env, task)
        try:
            with connect_session() as session:
                answer = session.post(url, timeout=SOON)
            answer.raise_for_status()
        except requests.RequestException as error:
            self.say(f"{task} could not be restarted: {type(error).__name__}")
            return
        metrics.RESTARTS.labels(task.connector).inc()
        self.say(f"{task} is restarted: {task.reason}")

    def tell(self, findings: list[Finding]) -> None:
        """Say what was not so at the look before, and what is over."""
        now = {(finding.name, finding.about): finding for finding in findings}
        for key, finding in now.items():
            if key not in self.known:
                self.say(f"{finding.sentence}: {finding.way_out}")
        for key, finding in self.known.items():
            if key not in now:
                self.say(f"over: {finding.sentence}")
        self.known = now


def address(env: Env, task: Task) -> str:
    """Return where a POST restarts a connector or a task."""
    url = f"{env['CONNECT_URL']}/connectors/{task.connector}"
    if task.number is not None:
        url = f"{url}/tasks/{task.number}"
    return f"{url}/restart"


def free_seat(env: Env) -> Seat:
    """Return a seat that nobody has taken yet."""
    password = read_password(Path(env["RECONCILER_PASSWORD_FILE"]))
    address = make_conninfo(
        env["DATABASE_URL"],
        user="reconciler",
        password=password,
        application_name="guard",
        connect_timeout=SOON,
    )
    return Seat(address, None)


def keep_guard(env: Env, host: str, port: int, say: Say, pulse_seconds: float = 0) -> NoReturn:
    """Look until the process is stopped; act, and send pulses, while no other guard does."""
    guard = Guard(env, say)
    pulses = Pulses(env, pulse_seconds, metrics.show_pulse) if pulse_seconds else None
    metrics.PULSING.set(pulse_seconds)
    metrics.PULSED.set_to_current_time()
    serve(host, port, guard.answer)
    seat = free_seat(env)
    acted: bool | None = None
    while True:
        began = time.monotonic()
        seat = seat.take()
        acts = seat.session is not None
        if acts is not acted:
            say("it acts" if acts else "it watches: another guard acts, or Postgres is away")
            acted = acts
        guard.look_once(acts=acts)
        if acts and pulses:
            pulses.beat()
        took = time.monotonic() - began
        time.sleep(max(0.0, LOOK_SECONDS - took))


def look_for_a_while(env: Env) -> list[Finding]:
    """Look for as long as it takes to know whether slots move; return what is not well, act not."""
    guard = Guard(env, lambda _line: None)
    deadline = time.monotonic() + ONCE_SECONDS
    findings: list[Finding] = []
    while time.monotonic() < deadline:
        findings = guard.look_once(acts=False)
        time.sleep(LOOK_SECONDS)
    return findings
