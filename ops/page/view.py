"""What the page says: what is not well and what to do, the path, the letters, the last runs."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ops.guard.findings import LATE_SECONDS, Finding, judge
from ops.guard.look import Look
from ops.letters.decoded import visible
from ops.page import words
from ops.page.acts import Desk, Doing, group_of
from ops.page.answers import Answers
from ops.page.board import Board
from ops.page.flows import Path, path_now
from ops.trace.lake import Run

LONG_REASON = 400  # characters; the page of the letter has the rest
MOST_GROUPS = 100
LANDING_SECONDS = 240.0  # of a landing that should go on by itself

Row = dict[str, Any]


class Group(NamedTuple):
    """The letters that have a topic, a kind and a reason in common."""

    name: str
    kind: str
    reason: str
    letters: int
    last: str
    latest: str


class Judged(NamedTuple):
    """A reconciliation in the strip."""

    run_id: str
    ok: bool
    verdict: str
    at: str
    ago: str


class View(NamedTuple):
    """Everything on the page."""

    is_known: bool  # whether each part was asked at least once
    findings: Sequence[Finding]
    processes: Sequence[Row]
    path: Path
    groups: Sequence[Group]
    more_groups: int  # that are not shown
    letters: int
    letters_note: str  # how old that is, if it is old
    runs: Sequence[Judged]
    runs_note: str
    doings: Sequence[Doing]
    looked: str  # how long ago the oldest of what changes fast was looked at

    @property
    def is_well(self) -> bool:
        """Return whether nothing is to be done."""
        return self.is_known and not self.findings


def view_now(
    board: Board, desk: Desk, input_topic: str, clock: float, *, landing_stays: bool
) -> View:
    """Return what there is to say now."""
    letters = board.letters.latest or []
    with board.lock:
        findings = list(find(board, clock, landing_stays=landing_stays))
        path = path_now(board, input_topic, clock, landing_stays=landing_stays)
    return View(
        is_known=not any(answers.is_awaited() for answers in board.all()),
        findings=findings,
        processes=board.processes.latest or [],
        path=path,
        groups=[as_group(row) for row in letters[:MOST_GROUPS]],
        more_groups=max(0, len(letters) - MOST_GROUPS),
        letters=sum(row["letters"] for row in letters),
        letters_note=note_of(board.letters, clock),
        runs=[as_judged(run) for run in board.runs.latest or []],
        runs_note=note_of(board.runs, clock),
        doings=list(desk.doings),
        looked=looked(board, clock),
    )


def looked(board: Board, clock: float) -> str:
    """Return how long ago the oldest look was that is shown as of now."""
    ages = [
        answers.age(clock)
        for answers in (board.topics, board.slots, board.rows)
        if answers.now(clock) is not None
    ]
    return f"{max(1.0, *ages):.0f} s" if ages else ""


def note_of(answers: Answers[Any], clock: float) -> str:
    """Return why something is not of now, and how old it is."""
    if answers.now(clock) is not None or answers.is_awaited():
        return ""
    why = visible(answers.failure) or "no answer yet"
    if not answers.at:
        return why
    return f"{why}; what is here is {words.seconds(answers.age(clock))} old"


def find(board: Board, clock: float, *, landing_stays: bool) -> Iterator[Finding]:
    """Yield what is not well, what stops most first."""
    yield from of_the_guard(board, clock)
    yield from of_processes(board, clock)
    yield from of_the_databases(board, clock)
    yield from of_the_service(board, clock)
    yield from of_landing(board, clock, landing_stays=landing_stays)
    yield from of_runs(board.runs.latest or [])


def of_the_guard(board: Board, clock: float) -> Iterator[Finding]:
    """Yield what the guard would find, with what a person can do about it."""
    kafka = latest_or(board.topics, clock, ())
    look = Look(
        at=board.slots.at,
        tasks=latest_or(board.tasks, clock, []),
        slots=latest_or(board.slots, clock, []),
        lag=None if kafka is None else 0,
        bursts=latest_or(board.bursts, clock, []),
    )
    for found in judge(look, board.seen):
        finding = found._replace(sentence=visible(found.sentence))
        if finding.name == "no_answer":
            yield as_part(board, finding, clock)
        elif finding.name == "task_failed":
            yield finding._replace(way_out="pipeline guard restarts it; read the log of Connect")
        else:
            yield finding


def as_part(board: Board, finding: Finding, clock: float) -> Finding:
    """Return who does not answer, since when, and what to do where it is a process of ours."""
    for one in board.processes.latest or []:
        if is_named(one["name"], finding.about):
            finding = finding._replace(way_out=way_out_for(one))
    sentence = f"{finding.sentence}{since_when(board, finding.about, clock)}"
    return finding._replace(sentence=sentence)


def way_out_for(process: Row) -> str:
    """Return what to do about a process that is not ready."""
    return f"read {process['log']}" if process["pid"] else "pipeline up starts what is missing"


def is_named(process: str, part: str) -> bool:
    """Return whether a process is this part, or one of several that are."""
    return process.partition("-")[0] == part.lower()


def since_when(board: Board, part: str, clock: float) -> str:
    """Return since when a part does not answer."""
    answers = asked_about(board)[part]
    return f" for {words.seconds(answers.age(clock))}" if answers.at else ""


def asked_about(board: Board) -> dict[str, Answers[Any]]:
    """Return who tells whether a part answers."""
    return {"Connect": board.tasks, "Postgres": board.slots, "Kafka": board.topics}


def is_first(answers: Answers[Any], clock: float) -> bool:
    """Return whether a part is being asked for the first time, and has still time."""
    return answers.is_awaited() and not answers.is_late(clock)


def latest_or(answers: Answers[Any], clock: float, first: Any) -> Any:
    """Return the answer of now; None if there is none; something else while it is awaited."""
    return first if is_first(answers, clock) else answers.now(clock)


def of_processes(board: Board, clock: float) -> Iterator[Finding]:
    """Yield a finding for each process of the embedded stack that is not ready.

    Of a part that does not answer, that was said.
    """
    asked = asked_about(board).items()
    silent = [part for part, answers in asked if latest_or(answers, clock, []) is None]
    for one in board.processes.now(clock) or []:
        name = one["name"]
        if one["ready"] or any(is_named(name, part) for part in silent):
            continue
        sentence = f"{name}: {visible(one['missing'])}"
        yield Finding("not_ready", name, sentence, way_out_for(one))


def of_the_databases(board: Board, clock: float) -> Iterator[Finding]:
    """Yield a finding if Postgres answers, and what the page needs cannot be read there."""
    if latest_or(board.slots, clock, ()) is None:
        return
    failures = {board.rows.failure, board.letters.failure} - {""}
    for failure in sorted(failures):
        sentence = f"the databases cannot be read: {visible(failure)}"
        yield Finding("not_read", "databases", sentence, "read the log of Postgres")


def of_the_service(board: Board, clock: float) -> Iterator[Finding]:
    """Yield a finding if records wait too long for the service."""
    topics = board.topics.now(clock)
    if topics is not None and topics.waits > LATE_SECONDS:
        sentence = (
            f"{words.count(topics.lag)} records wait to be handled, the oldest for"
            f" {words.seconds(topics.waits)}"
        )
        yield Finding("service_behind", "service", sentence, "read /readyz of the service")
    rows = board.rows.now(clock)
    if rows is not None and rows.unaudited_for > LATE_SECONDS:
        sentence = (
            f"{words.count(rows.unaudited)} messages wait for the audit receiver, the oldest for"
            f" {words.seconds(rows.unaudited_for)}"
        )
        yield Finding("audit_behind", "audit", sentence, "read /readyz of the service")


def of_landing(board: Board, clock: float, *, landing_stays: bool) -> Iterator[Finding]:
    """Yield a finding if a landing that should go on by itself stands still."""
    landing = board.landing.now(clock)
    if landing_stays and landing is not None and landing.waits > LANDING_SECONDS:
        sentence = (
            f"{words.count(landing.waiting)} records wait to land, the oldest for"
            f" {words.seconds(landing.waits)}"
        )
        yield Finding("landing_behind", "landing", sentence, "read the log of the landing")


def of_runs(runs: Sequence[Run]) -> Iterator[Finding]:
    """Yield a finding if the last reconciliation was not good."""
    if runs and not runs[0].ok:
        verdict = visible(runs[0].verdict.removeprefix("verdict: "))
        sentence = f"the last reconciliation says: {verdict}"
        yield Finding("reconciled", "runs", sentence, "pipeline repair says what can be done")


def as_group(row: Row) -> Group:
    """Return the letters of a reason as the page shows them."""
    reason = visible(row["reason"])
    if len(reason) > LONG_REASON:
        reason = f"{reason[:LONG_REASON]}…"
    return Group(
        name=group_of(row),
        kind=row["kind"],
        reason=reason,
        letters=row["letters"],
        last=words.since(row["last_at"]) if row["last_at"] else "not known",
        latest=row["latest"],
    )


def as_judged(run: Run) -> Judged:
    """Return a reconciliation as the strip shows it."""
    at = words.began_at(run.run_id)
    verdict = visible(run.verdict.removeprefix("verdict: "))
    return Judged(run.run_id, run.ok, verdict, words.moment(at), words.since(at))
