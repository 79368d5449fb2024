"""What became of one message or dead letter at each hop, and where to look if it is not there."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from contract.events import ACCEPTED, EVENTS, REJECTED
from contract.names import AUDIT_DATABASE, AUDIT_TOPIC, DATABASE, DEAD_LETTER_TOPIC
from contract.trace import Trace as W3CTrace
from ops.settings import Env
from ops.trace.databases import (
    Databases,
    MessageRows,
    Position,
    Row,
    is_retired,
    position_of,
    read_message,
    read_slot,
)
from ops.trace.lake import LastRun, count_landed, find_landed, read_open
from ops.trace.topics import Look, look_at, look_for_event
from service.ids import derive
from spark.kafka.positions import kafka_topic

THERE = "there"
WAITING = "waiting"  # the hop before it is there, and what comes next is at work
MISSING = "MISSING"
DELETED = "deleted"  # when it was old enough
UNKNOWN = "unknown"
NOT_FINE = {WAITING, MISSING}
NEARLY_READ = 16 * 1024 * 1024  # bytes: a segment of the log
WITHIN_A_MOMENT = timedelta(minutes=1)
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)

SERVICE_LOG = "look at pipeline status, and at the log of the service"
RECONCILE = "pipeline reconcile says whether it is lost, pipeline repair what can be done"


class Hop(NamedTuple):
    """One hop of the path."""

    name: str
    state: str
    what: str
    at: datetime | None = None
    next: str = ""  # where to look, if it is not there


class Trace(NamedTuple):
    """The path of one message or dead letter."""

    title: str
    hops: Sequence[Hop]

    def is_fine(self) -> bool:
        """Return whether all that should be there is."""
        return not any(hop.state in NOT_FINE for hop in self.hops)

    def as_json(self) -> dict[str, Any]:
        """Return the same for a program."""
        hops = []
        for hop in self.hops:
            at = hop.at.isoformat() if hop.at else None
            hops.append({**hop._asdict(), "at": at})
        return {"title": self.title, "fine": self.is_fine(), "hops": hops}


class Sources(NamedTuple):
    """Where everything is looked up."""

    env: Env
    databases: Databases
    last_run: LastRun | None


class Event(NamedTuple):
    """An event that should be in an outbox, on its topic, and in the lake."""

    outbox: str
    topic: str
    key: str
    id: str
    row: Row | None  # of the outbox
    written_by: int  # the transaction
    since: datetime  # it was not published before


class Path:
    """The hops of one message so far, and by what the lake knows them."""

    def __init__(self) -> None:
        self.hops: list[Hop] = []
        self.positions: list[Position] = []
        self.ids: list[str] = []

    def add(self, hop: Hop) -> None:
        """Go one hop further."""
        self.hops.append(hop)

    def pass_by(self, position: Position) -> None:
        """Remember a record on the way."""
        self.positions.append(position)
        self.ids.append(str(position))


def trace_message(sources: Sources, message_id: str) -> Trace:
    """Follow a message from its record to what the last reconciliation says of it."""
    rows = read_message(sources.databases, message_id)
    path = Path()
    path.ids.append(message_id)
    follow_record(sources, path, rows)
    path.add(decision_hop(rows))
    follow_events(sources, path, rows)
    follow_audit(sources, path, rows)
    follow_lake(sources, path)
    return Trace(title_of(rows), path.hops)


def trace_letter(sources: Sources, letter: Row) -> Trace:
    """Follow a record that became a dead letter."""
    path = Path()
    position = position_of(letter)
    follow_position(sources, path, position)
    why = f"{letter['kind']}: {letter['reason']}"
    path.add(Hop("dead letter", THERE, why, letter["buried_at"]))
    for act in letter["acts"] or []:
        path.add(hop_of_act(act, position.topic))
    event = Event(
        outbox=DATABASE,
        topic=DEAD_LETTER_TOPIC,
        key=str(position),
        id=letter["event_id"],
        row=letter,
        written_by=letter["written_by"],
        since=letter["occurred_at"],
    )
    follow_event(sources, path, event)
    follow_lake(sources, path)
    return Trace(f"dead letter {position}", path.hops)


def trace_parked(sources: Sources, row: Row) -> Trace:
    """Follow a record that waits behind a dead letter of its key."""
    path = Path()
    position = position_of(row)
    follow_position(sources, path, position)
    letter = row["letter"]
    if letter:
        what = f"behind the dead letter {letter}"
        look = f"pipeline dead-letters show {letter}, then replay or skip it"
    else:
        what, look = "its turn comes", SERVICE_LOG
    path.add(Hop("parked", WAITING, what, row["parked_at"], look))
    follow_lake(sources, path)
    return Trace(f"parked record {position}", path.hops)


def hop_of_act(act: Row, topic: str) -> Hop:
    """Return what somebody has done about a dead letter."""
    at = datetime.fromisoformat(act["at"])
    what = f"by {act['by']}: {act['why']}"
    if act["sent"]:
        place = f"{kafka_topic(topic)}/{act['sent']}"
        end = act["outcome"] or "not known yet"
        what = f"sent again as {place} ({end}) {what}"
    return Hop(act["act"], THERE, what, at)


def title_of(rows: MessageRows) -> str:
    """Return which message it is, and what became of it."""
    name = f"message {rows.message_id}"
    if rows.fulfillment:
        return f"{name} of order {rows.fulfillment['order_id']}: {ACCEPTED}"
    if rows.rejection:
        return f"{name} of order {rows.rejection['order_id']}: {REJECTED}"
    return f"{name}: neither {ACCEPTED} nor {REJECTED}"


def follow_record(sources: Sources, path: Path, rows: MessageRows) -> None:
    """Look for the record and for the proof that it was handled."""
    if rows.tracking:
        follow_position(sources, path, position_of(rows.tracking), rows.message_id)
        path.add(Hop("tracking", THERE, "handled", rows.tracking["handled_at"]))
        return
    position = find_landed(
        sources.env["DELTA_ROOT"],
        sources.env["INPUT_TOPIC"],
        key=order_of(rows),
        header="message_id",
        value=rows.message_id,
    )
    if position:
        follow_position(sources, path, position, rows.message_id)
    path.add(Hop("tracking", DELETED, "its row was old enough"))


def follow_position(
    sources: Sources, path: Path, position: Position, message_id: str | None = None
) -> None:
    """Look at a record, which may be deleted long ago."""
    path.pass_by(position)
    look = look_at(sources.env, position, message_id)
    if look.record:
        path.add(Hop("record", THERE, str(position), look.record.at))
    else:
        path.add(Hop("record", DELETED, f"{position}: {look.where}"))


def decision_hop(rows: MessageRows) -> Hop:
    """Return what the business says of the message."""
    if rows.fulfillment:
        return Hop("fulfillment", THERE, str(rows.fulfillment["fulfillment_id"]))
    if rows.rejection:
        winner = rows.rejection["fulfilled_by"]
        by = f", {ACCEPTED} for message {winner}" if winner else ""
        return Hop("rejection", THERE, f"{rows.rejection['reason']}{by}")
    return Hop("decision", MISSING, "no fulfillment and no rejection", next=RECONCILE)


def follow_events(sources: Sources, path: Path, rows: MessageRows) -> None:
    """Look for the events of the message in the outbox and on their topics."""
    decision = rows.fulfillment or rows.rejection
    if decision is None:
        return
    decided = ACCEPTED if rows.fulfillment else REJECTED
    for kind in EVENTS:
        if decided not in (kind.outcome, kind.follows):
            continue
        name = "event" if kind.outcome else kind.event_type
        event_id = derive(name, rows.message_id, sources.databases.subscriber)
        row = rows.events.get(event_id)
        event = Event(
            outbox=DATABASE,
            topic=kind.topic,
            key=order_of(rows),
            id=event_id,
            row=row,
            written_by=decision["written_by"],
            since=handled_at(rows),
        )
        follow_event(sources, path, event)


def order_of(rows: MessageRows) -> str:
    """Return which order a message is about: it is the key of all its records."""
    decision = rows.fulfillment or rows.rejection
    return str(decision["order_id"]) if decision else ""


def handled_at(rows: MessageRows) -> datetime:
    """Return when a message was handled, or a time before all records if that is not known."""
    return rows.tracking["handled_at"] if rows.tracking else LONG_AGO


def follow_event(sources: Sources, path: Path, event: Event) -> None:
    """Look for an event in its outbox, on its topic, and in the lake if Kafka has deleted it."""
    path.ids.append(event.id)
    retired = False
    if event.row:
        trace_id = W3CTrace(event.row["traceparent"]).trace_id
        what = f"event {event.id}, trace {trace_id}"
        path.add(Hop("outbox", THERE, what, event.row["occurred_at"]))
    else:
        retired = is_retired(sources.databases, event.outbox, event.topic, event.written_by)
        path.add(not_in_outbox(event, retired=retired))
    look = look_for_event(sources.env, event.topic, event.id, event.since)
    if look.record:
        path.pass_by(look.record.position)
        path.add(Hop("event", THERE, str(look.record.position), look.record.at))
        return
    root = sources.env["DELTA_ROOT"]
    landed = find_landed(root, event.topic, event.key, header="id", value=event.id)
    if landed:
        path.pass_by(landed)
        path.add(Hop("event", DELETED, f"{landed}: Kafka has deleted it"))
        return
    if retired:
        path.add(Hop("event", DELETED, "it had landed and matched before it was retired"))
        return
    slot = read_slot(sources.databases, event.outbox)
    path.add(not_on_topic(event, look, slot))


def not_in_outbox(event: Event, *, retired: bool) -> Hop:
    """Return why an event has no row in its outbox."""
    if retired:
        return Hop("outbox", DELETED, f"event {event.id}: retired, after it was matched")
    return Hop("outbox", MISSING, f"no row of event {event.id}", next=RECONCILE)


def not_on_topic(event: Event, look: Look, slot: Mapping[str, Any] | None) -> Hop:
    """Return why an event is neither on its topic nor in the lake."""
    name = f"{event.outbox}_outbox"
    not_there = f"{event.topic}: {look.where}; slot {name}"
    if slot is None:
        return Hop(
            "event",
            MISSING,
            f"{not_there} is gone",
            next="pipeline check --live says how to make it again",
        )
    if not has_passed(slot, event.since):
        reader = "is read" if slot["active"] else "is NOT read"
        return Hop(
            "event",
            WAITING,
            f"{not_there} is {slot['bytes_behind']:,} bytes behind and {reader}",
            next="pipeline status shows its connector",
        )
    if not look.is_complete:
        return Hop("event", UNKNOWN, f"{not_there} has passed it", next=RECONCILE)
    return Hop(
        "event",
        MISSING,
        f"{not_there} has passed it",
        next=f"pipeline outbox resend --event-id {event.id}",
    )


def has_passed(slot: Mapping[str, Any], since: datetime) -> bool:
    """Return whether a slot has been read beyond an event that was written then.

    On a busy server it is always a little behind, of what was written a moment ago.
    """
    is_read = slot["active"] and slot["bytes_behind"] < NEARLY_READ
    is_older = datetime.now(UTC) - since > WITHIN_A_MOMENT
    return slot["bytes_behind"] <= 0 or (is_read and is_older)


def follow_audit(sources: Sources, path: Path, rows: MessageRows) -> None:
    """Look for the audit entry, its mark in the service's database, and its event."""
    path.add(mark_hop(rows))
    if rows.entry is None:
        return
    event_id = rows.entry["audit_entry_id"]
    path.add(Hop("audit entry", THERE, f"key {rows.entry['idempotency_key']}"))
    event = Event(
        outbox=AUDIT_DATABASE,
        topic=AUDIT_TOPIC,
        key=order_of(rows),
        id=event_id,
        row=rows.audit_events.get(event_id),
        written_by=rows.entry["written_by"],
        since=handled_at(rows),
    )
    follow_event(sources, path, event)


def mark_hop(rows: MessageRows) -> Hop:
    """Return what the service knows of the audit receiver's answer."""
    tracking = rows.tracking
    if tracking is None:
        state = THERE if rows.entry else UNKNOWN
        return Hop("audit", state, "its tracking row is not kept any more")
    if tracking["audit_error"]:
        return Hop(
            "audit",
            MISSING,
            f"the receiver refused it: {tracking['audit_error']}",
            next="pipeline audit retry sends it again",
        )
    if tracking["audited_at"]:
        state = THERE if rows.entry else MISSING
        what = "the receiver has taken it" if rows.entry else "marked, and the entry is not there"
        return Hop("audit", state, what, tracking["audited_at"], "" if rows.entry else RECONCILE)
    why = tracking["audit_failure"] or "not sent yet"
    return Hop("audit", WAITING, why, next=SERVICE_LOG)


def follow_lake(sources: Sources, path: Path) -> None:
    """Look for the records in the lake, and for what the last reconciliation says."""
    for position in path.positions:
        path.add(landed_hop(sources.env["DELTA_ROOT"], position))
    path.add(judged_hop(sources, path))


def landed_hop(root: str, position: Position) -> Hop:
    """Return whether a record has landed."""
    count = count_landed(root, position)
    if count == 1:
        return Hop("landed", THERE, str(position))
    if count:
        return Hop("landed", MISSING, f"{position} has landed {count} times", next=RECONCILE)
    return Hop("landed", WAITING, f"{position} has not landed", next="pipeline land lands it")


def judged_hop(sources: Sources, path: Path) -> Hop:
    """Return what the last reconciliation says of all that was found."""
    run = sources.last_run
    if run is None:
        return Hop("reconciled", UNKNOWN, "nothing was ever reconciled", next="pipeline reconcile")
    open_ids = read_open(sources.env["DELTA_ROOT"], run.run_id, path.ids)
    if open_ids:
        found = "; ".join(f"{row['hop']}: {row['outcome']}" for row in open_ids)
        return Hop("reconciled", MISSING, f"run {run.run_id}: {found}", next=RECONCILE)
    later = [str(position) for position in path.positions if not run.has_judged(position)]
    if later:
        what = f"run {run.run_id} was before {', '.join(later)}"
        return Hop("reconciled", UNKNOWN, what, next="pipeline reconcile")
    return Hop("reconciled", THERE, f"run {run.run_id} has found nothing wrong with it")
