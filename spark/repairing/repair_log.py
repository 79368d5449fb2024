"""The table of what was repaired: who, when, what, and which reconciliation had found it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import psycopg
from psycopg.conninfo import make_conninfo

from spark.repairing.acts import Finding, Proposal
from spark.session import exit_with_error

ROLE = "resender"
CONNECT_SECONDS = 5

# Whoever is killed loses it with the connection.
LOCK = "select pg_try_advisory_lock(hashtext('repair'))"

PLAN = """
    insert into repair (run_id, hop, id, outcome, act, planned_by)
    values (%s, %s, %s, %s, %s, %s)
    on conflict do nothing
"""
NOTE_DONE = """
    update repair
    set done_at = now()
    where run_id = %s and hop = %s and id = %s
"""
DONE = "select hop, id from repair where run_id = %s and done_at is not null"


class RepairLog(NamedTuple):
    """The rows about the findings of one run."""

    session: psycopg.Connection
    run_id: str

    def plan(self, proposals: Sequence[Proposal], who: str) -> None:
        """Note what is about to be done, unless an earlier repair has."""
        rows = []
        for finding, act, _ in proposals:
            rows.append((self.run_id, finding.hop, finding.id, finding.outcome, act, who))
        self.write(PLAN, rows)

    def note_done(self, findings: Sequence[Finding]) -> None:
        """Note that the acts of these findings are done."""
        rows = [(self.run_id, finding.hop, finding.id) for finding in findings]
        self.write(NOTE_DONE, rows)

    def done(self) -> set[tuple[str, str]]:
        """Return hop and id of each finding whose act is done."""
        rows = self.session.execute(DONE, [self.run_id])
        return {(hop, id_) for hop, id_ in rows}

    def write(self, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
        """Write all rows in one transaction."""
        with self.session.transaction(), self.session.cursor() as cursor:
            cursor.executemany(statement, rows)


@contextmanager
def connect(url: str, password_file: Path) -> Iterator[psycopg.Connection]:
    """Log in as the role that sends again what did not arrive."""
    password = password_file.read_text().strip()
    address = make_conninfo(url, user=ROLE, password=password)
    with psycopg.connect(address, autocommit=True, connect_timeout=CONNECT_SECONDS) as session:
        yield session


@contextmanager
def open_log(url: str, password_file: Path, run_id: str) -> Iterator[RepairLog]:
    """Open the table for the findings of a run; end the job if another repair is at work."""
    with connect(url, password_file) as session:
        [(is_alone,)] = session.execute(LOCK)
        if not is_alone:
            exit_with_error("another repair is at work: wait until it has ended")
        yield RepairLog(session, run_id)
