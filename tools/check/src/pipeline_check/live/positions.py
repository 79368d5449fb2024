"""Where a connector is, as Connect keeps it, beside the slot and the end of the server's log.

Connect stores how far a connector has published, the slot how far it was told to forget the log.
A slot that is ahead has let go of events that nobody published; an offset beyond the end of the
log is that of a server which had a longer one.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from pipeline_check.connector.outbox import Outbox
from pipeline_check.connector.surroundings import parse_number
from pipeline_check.live.postgres import Database
from pipeline_check.rules.finding import Finding, Severity

# An outbox row has the time at which its transaction began, the offset that of its commit.
LONGEST_TRANSACTION = timedelta(minutes=10)
# Of its heartbeats: a connector that is silent for longer hangs, or is far behind.
LONGEST_SILENCE = timedelta(seconds=30)
CURL = "curl -fsS"
END_OF_LOG = """
    select case when pg_is_in_recovery()
        then pg_last_wal_replay_lsn()
        else pg_current_wal_insert_lsn()
    end::text
"""


@dataclass(frozen=True)
class Position:
    """A position in the log, and when the last transaction before it was committed."""

    lsn: int
    committed_at: datetime | None = None


def how_to_resend(position: Position | None) -> str:
    """Return the command that sends again what a connector at this position may have missed."""
    since = "TIME"
    if position and position.committed_at:
        earlier = position.committed_at - LONGEST_TRANSACTION
        since = f"{earlier:%Y-%m-%dT%H:%M:%SZ}"
    return f"pipeline outbox resend --missing --since {since}"


def find_position(answer: Mapping[str, Any]) -> Position | None:
    """Return the position in an answer of `GET /connectors/NAME/offsets`, if it has one."""
    for each in answer["offsets"]:
        offset = each["offset"] or {}
        lsn = offset.get("lsn_proc") or offset.get("lsn")
        if lsn is not None:
            microseconds = offset.get("ts_usec")
            committed_at = None
            if microseconds:
                committed_at = datetime.fromtimestamp(microseconds / 1_000_000, UTC)
            return Position(int(lsn), committed_at)
    return None


def parse_lsn(text: str) -> int:
    """Return a position as PostgreSQL writes it, 16/B374D848, as a number."""
    high, _, low = text.partition("/")
    return (int(high, 16) << 32) + int(low, 16)


def forget_offset(connector: str) -> str:
    """Return the commands that let a connector go on where its slot is."""
    url = f"$CONNECT_URL/connectors/{connector}"
    steps = [
        f'{CURL} -X PUT "{url}/stop"',
        f'{CURL} --retry 9 --retry-all-errors -X DELETE "{url}/offsets"',
        f'{CURL} -X PUT "{url}/resume"',
    ]
    return " && ".join(steps)


def check_position(
    database: Database, slot: Mapping[str, Any], connector: str, position: Position
) -> Iterator[Finding]:
    """Check that slot and offset are of this log, and that nobody but Connect moved the slot."""
    name = slot["slot_name"]
    end = parse_lsn(database.ask(END_OF_LOG) or "0/0")
    confirmed = parse_lsn(slot.get("confirmed_flush_lsn") or "0/0")
    resend = how_to_resend(position)
    if position.lsn > end:
        message = (
            f"{connector} is {position.lsn - end} bytes beyond the end of the log of "
            f"{database.name}: the server was restored from a backup, or is another one, and what "
            f"it commits before it gets there is skipped. Let it go on at its slot, then {resend}, "
            "and reconcile"
        )
        place = f"connect/{connector}"
        fix = forget_offset(connector)
        yield Finding("connector-beyond-log", Severity.ERROR, place, 0, message, fix)
    elif confirmed > position.lsn and not slot["active"]:
        message = (
            f"slot {name} is {confirmed - position.lsn} bytes beyond what {connector} has "
            "published: somebody moved it, and the events between are skipped. Reconcile afterwards"
        )
        yield Finding("slot-ahead", Severity.ERROR, database.place, 0, message, resend)


def check_heartbeat(
    database: Database, outbox: Outbox, connector: str, position: Position
) -> Iterator[Finding]:
    """Check that a connector that reads its slot has published its heartbeat lately.

    A worker that hangs keeps its slot and is RUNNING, as far as anybody knows.
    """
    milliseconds = parse_number(outbox.value("heartbeat.interval.ms"))
    _, table = outbox.heartbeat
    if not (milliseconds and table and position.committed_at):
        return
    silence = database.ask("select now()") - position.committed_at
    if silence > LONGEST_SILENCE + 2 * timedelta(milliseconds=milliseconds):
        seconds = round(silence.total_seconds())
        message = (
            f"{connector} has published nothing for {seconds} s, not even a heartbeat, which is "
            f"due every {milliseconds} ms: its worker hangs, or it is far behind"
        )
        fix = f"{CURL} $CONNECT_URL/connectors/{connector}/status"
        place = f"connect/{connector}"
        yield Finding("connector-late", Severity.ERROR, place, 0, message, fix)
