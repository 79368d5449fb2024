"""Whether the outbox slots move, and which of them stand still."""

import time
from collections.abc import Mapping
from typing import NamedTuple

from lab.environment import connect_as_admin
from lab.faults.judge import Finding
from lab.faults.observe import Env
from ops.stack.supervisor import until

MOVES_WITHIN_SECONDS = 20.0  # ten heartbeats
NOW = "select pg_current_wal_insert_lsn()"
STANDING = "select slot_name from pg_replication_slots where confirmed_flush_lsn < %s"


POSITIONS = """
    select slot_name, confirmed_flush_lsn::text, confirmed_flush_lsn < pg_current_wal_insert_lsn()
    from pg_replication_slots
    where slot_type = 'logical'
"""


class Stand(NamedTuple):
    """Where a slot is, and since when."""

    position: str
    since: float  # on the clock of time.monotonic


class SilenceWatch:
    """Tells which slots have not moved for long although there is something to read."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.seen: Mapping[str, Stand] = {}

    def look(self, env: Env) -> list[str]:
        """Return the names of the slots that nobody reads, as far as several looks tell."""
        with connect_as_admin(dict(env)) as admin:
            rows = admin.execute(POSITIONS).fetchall()
        return self.note(rows, time.monotonic())

    def note(self, rows: list[tuple[str, str, bool]], now: float) -> list[str]:
        """Return the same for what a look has shown."""
        seen = {}
        for name, position, is_behind in rows:
            before = self.seen.get(name)
            stands = before is not None and is_behind and before.position == position
            seen[name] = before if before and stands else Stand(position, now)
        self.seen = seen
        return [name for name, stand in seen.items() if now - stand.since > self.seconds]


def check_slots(env: Env, seconds: float = MOVES_WITHIN_SECONDS) -> list[Finding]:
    """Return the slots that have not passed what was written before this call (I20).

    They must move although nothing is published, so that Postgres can drop its log.
    """
    with connect_as_admin(dict(env)) as admin:
        written = admin.execute(NOW).fetchone()

        def standing() -> list[str]:
            return [name for (name,) in admin.execute(STANDING, written)]

        until(lambda: not standing(), seconds)
        sentence = f"has not moved past what was written {seconds:g} s ago"
        return [Finding("I20", name, sentence) for name in standing()]
