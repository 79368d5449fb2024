"""I20: the outbox slots move although nothing is published, so that Postgres can drop its log."""

from lab.environment import connect_as_admin
from lab.faults.judge import Finding
from lab.faults.observe import Env
from ops.stack.supervisor import until

MOVES_WITHIN_SECONDS = 20.0  # ten heartbeats
NOW = "select pg_current_wal_insert_lsn()"
STANDING = "select slot_name from pg_replication_slots where confirmed_flush_lsn < %s"


def check_slots(env: Env, seconds: float = MOVES_WITHIN_SECONDS) -> list[Finding]:
    """Return the slots that have not passed what was written before this call."""
    with connect_as_admin(dict(env)) as admin:
        written = admin.execute(NOW).fetchone()

        def standing() -> list[str]:
            return [name for (name,) in admin.execute(STANDING, written)]

        until(lambda: not standing(), seconds)
        sentence = f"has not moved past what was written {seconds:g} s ago"
        return [Finding("I20", name, sentence) for name in standing()]
