"""The path as it is now: what passes each hop, what waits before it, how long the latest took."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from contract.names import AUDIT_DATABASE, AUDIT_TOPIC, DATABASE
from ops.guard.findings import GIVEN_UP, LATE_SECONDS
from ops.letters.decoded import visible
from ops.page import words
from ops.page.answers import Answers
from ops.page.board import Board, outbox_topics
from ops.page.read import Took
from spark import hops
from spark.judging.outcome import DEFECTS
from spark.reporting.picture import Box, Line, Picture, draw

SOON_SECONDS = 10.0  # what waits for less is on its way
FRESH_SECONDS = 60.0
AT_ONCE = "in the same transaction"
MARKS = {"good": "✓", "late": "…", "behind": "‖", "bad": "✗", "unknown": "?", "quiet": "·"}

Counts = Mapping[str, Any]  # of a hop, of the last reconciliation


class Flow(NamedTuple):
    """A hop as it is now."""

    state: str  # a key of MARKS
    what: str  # the label in the picture
    passes: str = ""  # a second
    waiting: str = ""
    took: str = ""  # the latest one
    note: str = ""


class Drawn(NamedTuple):
    """A line of the picture, or a row of the table: a hop as it is now, and as it was judged."""

    name: str
    line: Line
    flow: Flow
    judged: str  # by the last reconciliation
    is_wrong: bool

    @property
    def state(self) -> str:
        """Return how it is drawn: a defect of the last reconciliation is not to be overlooked."""
        return "bad" if self.is_wrong else self.flow.state

    @property
    def label(self) -> str:
        """Return what stands beside the line."""
        if self.is_wrong:
            return f"{MARKS['bad']} {self.judged}"
        return f"{MARKS[self.flow.state]} {self.flow.what}".strip()


class Path(NamedTuple):
    """The picture, and what each of its lines says."""

    boxes: list[Box]
    hops: list[Drawn]
    height: int


def state_of(waits: float) -> str:
    """Return how it is for something to have waited for so long."""
    if waits > LATE_SECONDS:
        return "behind"
    return "late" if waits > SOON_SECONDS else "good"


def say_took(took: Took | None) -> str:
    """Return how long the latest took, and when that was if it was not now."""
    if took is None:
        return ""
    said = words.seconds(took.seconds)
    return said if is_fresh(took) else f"{said}, {words.since(took.at)}"


def is_fresh(took: Took) -> bool:
    """Return whether it says something of now."""
    return (datetime.now(UTC) - took.at).total_seconds() < FRESH_SECONDS


def waiting_flow(
    waiting: int | None, waits: float, passes: str, took: Took | None, note: str = ""
) -> Flow:
    """Return a hop of which it is known how many wait, or at least for how long."""
    state = state_of(waits)
    number = "" if waiting is None else words.count(waiting)
    if state == "good":
        what = words.seconds(took.seconds) if took and is_fresh(took) else passes
        return Flow(state, what, passes, number, say_took(took), note)
    said = f"{number} for {words.seconds(waits)}".strip()
    what = f"{number} wait" if number else f"waits {words.seconds(waits)}"
    return Flow(state, what, passes, said, say_took(took), note)


class Flows:
    """Says of each hop what is known of it."""

    def __init__(
        self, board: Board, input_topic: str, clock: float, *, landing_stays: bool
    ) -> None:
        self.input_topic = input_topic
        self.landing_stays = landing_stays
        self.board = board
        self.clock = clock
        self.topics = board.topics.now(clock)
        self.rows = board.rows.now(clock)
        self.landing = board.landing.now(clock)
        self.slots = {slot.outbox: slot for slot in board.slots.now(clock) or ()}

    def of(self, hop: str) -> Flow:
        """Return the flow of the hop of this name."""
        if hop == hops.ledger_to_input(self.input_topic):
            return self.arriving()
        if hop == hops.input_to_tracking(self.input_topic):
            return self.handled()
        if hop == hops.TRACKING_TO_AUDIT_ENTRY:
            return self.audited()
        if hop == hops.TOPICS_TO_LANDED:
            return self.landed()
        if hop.startswith(hops.OUTBOX_TO):
            return self.published(hop.removeprefix(hops.OUTBOX_TO))
        return self.at_once()

    def pace_of(self, topic: str) -> str:
        """Return how many records come to a topic each second."""
        return words.pace(self.topics.paces.get(topic)) if self.topics else ""

    def arriving(self) -> Flow:
        """Return what comes to the input topic."""
        if self.topics is None:
            return unknown(self.board.topics, "Kafka")
        passes = self.pace_of(self.input_topic)
        return Flow("good", passes, passes)

    def handled(self) -> Flow:
        """Return what the service has still to handle."""
        if self.topics is None:
            return unknown(self.board.topics, "Kafka")
        took = self.topics.took.get(self.input_topic)
        return waiting_flow(self.topics.lag, self.topics.waits, "", took)

    def at_once(self) -> Flow:
        """Return a hop that is within a transaction: nothing can wait there."""
        if self.rows is None:
            return unknown(self.board.rows, "Postgres")
        return Flow("good", "", note=AT_ONCE)

    def audited(self) -> Flow:
        """Return what waits for the audit receiver's answer."""
        if self.rows is None:
            return unknown(self.board.rows, "Postgres")
        refused = self.rows.refused
        note = f"{words.count(refused)} refused for good: pipeline audit retry" if refused else ""
        return waiting_flow(
            self.rows.unaudited, self.rows.unaudited_for, "", self.rows.audited, note
        )

    def published(self, topic: str) -> Flow:
        """Return how long the events of an outbox wait for their topic."""
        outbox = AUDIT_DATABASE if topic == AUDIT_TOPIC else DATABASE
        slot = self.slots.get(outbox)
        seen = self.board.seen.slots.get(outbox)
        passes = self.pace_of(topic)
        took = self.topics.took.get(topic) if self.topics else None
        if self.board.slots.now(self.clock) == []:
            return Flow("quiet", "", passes, note="nobody publishes it here (ADOPT)")
        if slot is None or seen is None:
            return unknown(self.board.slots, "Postgres", passes)
        if not slot.exists or slot.wal_status == "lost":
            return Flow("bad", "slot lost", passes, "", say_took(took), "its slot is lost")
        waits = seen.waits_for(self.board.slots.at)
        note = "its log is nearly given up" if slot.wal_status in GIVEN_UP else ""
        return waiting_flow(None, waits, passes, took, note)

    def landed(self) -> Flow:
        """Return what has not landed yet: nothing to wonder at where nobody lands all the time."""
        if self.landing is None:
            return unknown(self.board.landing, "the lake")
        waiting, waits = self.landing.waiting, self.landing.waits
        if self.landing_stays or not waiting:
            return waiting_flow(waiting, waits, "", None)
        number = words.count(waiting)
        return Flow("quiet", f"{number} wait", "", number, note="pipeline land lands them")


def unknown(answers: Answers[Any], whom: str, passes: str = "") -> Flow:
    """Return a hop of which nothing is known now, and why."""
    note = visible(answers.failure) or f"{whom} has not answered"
    return Flow("unknown", "", passes, note=note)


def path_now(board: Board, input_topic: str, clock: float, *, landing_stays: bool) -> Path:
    """Return the path as the report draws it, with what is known now."""
    picture: Picture = draw(input_topic, outbox_topics())
    flows = Flows(board, input_topic, clock, landing_stays=landing_stays)
    judged = counts_of(board)
    drawn = []
    for line in picture.lines:
        name = line.hops[0]
        said, is_wrong = judgement(line, judged)
        drawn.append(Drawn(name, line, flows.of(name), said, is_wrong))
    drawn.sort(key=lambda one: place_on_the_path(one.name))
    boxes = [box._replace(place=place_now(box, flows)) for box in picture.boxes]
    return Path(boxes, drawn, picture.height)


def place_on_the_path(hop: str) -> int:
    """Return where a hop stands in a list: the service's, those of the audit, the lake."""
    if hop == hops.TOPICS_TO_LANDED:
        return 3
    is_of_audit = hop in {
        hops.TRACKING_TO_AUDIT_ENTRY,
        hops.AUDIT_ENTRY_TO_OUTBOX,
        f"{hops.OUTBOX_TO}{AUDIT_TOPIC}",
    }
    if is_of_audit:
        return 2
    return 1 if hop.startswith(hops.OUTBOX_TO) else 0


def counts_of(board: Board) -> dict[str, Counts]:
    """Return the counts of the last reconciliation that has compared anything, by hop."""
    runs = board.runs.latest or []
    last = next((run for run in runs if run.hops), None)
    return {row["hop"]: row for row in last.hops} if last else {}


def judgement(line: Line, judged: Mapping[str, Counts]) -> tuple[str, bool]:
    """Return what the last reconciliation says of a line, and whether that is a defect."""
    rows = [judged[hop] for hop in line.hops if hop in judged]
    if not rows:
        return "", False
    defects = {defect: sum(row[defect] for row in rows) for defect in DEFECTS}
    found = [f"{words.count(number)} {defect}" for defect, number in defects.items() if number]
    if found:
        return ", ".join(found), True
    late = rows[0]["late"]
    more = f", {words.count(late)} late" if late else ""
    return f"{words.count(rows[0]['matched'])} matched{more}", False


def place_now(box: Box, flows: Flows) -> str:
    """Return where a box is, with how much is in it as far as that is known."""
    number = number_in(box, flows)
    place = box.place.removeprefix("audit ")  # there is no room for more
    return box.place if number is None else f"{place} · {number}"


def number_in(box: Box, flows: Flows) -> str | None:
    """Return how much is in a box: exactly on a topic, about in a table."""
    if flows.topics is not None and box.title in flows.topics.held:
        return words.count(flows.topics.held[box.title])
    if flows.rows is None:
        return None
    is_audit = box.place == "audit receiver"
    tables = flows.rows.audit if is_audit else flows.rows.service
    if box.title == "fulfillment or rejection":
        return f"~{words.short_count(tables.get('fulfillment', 0) + tables.get('rejection', 0))}"
    rows = tables.get(box.title.replace(" ", "_"))
    return None if rows is None else f"~{words.short_count(rows)}"
