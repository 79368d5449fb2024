"""Outbox rows and audit entries that retention has deleted, made again from events that landed."""

import json
from pathlib import Path

from pyspark.sql import DataFrame

from contract.events import EVENTS
from contract.names import AUDIT_DATABASE, DATABASE, DEAD_LETTER_TOPIC, SUBSCRIBER
from spark.rows.frames import Frames, query
from spark.session import make_frame
from spark.statements import read_statements

CHANGED = ("fulfillment", "audit_entry", "retired_landed")
LANDED_SCHEMA = "topic string, contents string, source string"
ENTRIES_SCHEMA = "place string, contents string"
OF_ENTRIES = ("place", "offset", "body_sha256")  # what only their digest needs
STATEMENTS = read_statements(Path(__file__).with_suffix(".sql"))


def remember_retired(frames: Frames, tables: DataFrame) -> Frames:
    """Return outbox and audit entries with the rows that were deleted, and what else that changes.

    `tables` are the landed tables, as they landed.
    """
    entries = remember_entries(frames, tables)
    return entries | remember_events(frames | entries, tables)


def remember_entries(frames: Frames, tables: DataFrame) -> Frames:
    """Return the audit entries with those that were deleted."""
    if frames["retired_entry"].isEmpty():
        return {"retired_entry_landed": make_frame(tables.sparkSession, [], ENTRIES_SCHEMA)}
    entries = remake_entries(frames, tables).localCheckpoint(eager=False)
    given = {"entries": entries, "noted": frames["noted"]}
    landed = query(STATEMENTS["retired_entry_landed"], given)
    kept = frames["audit_entry"].where("true")
    return {
        "audit_entry": kept.unionByName(entries.drop(*OF_ENTRIES), allowMissingColumns=True),
        "retired_entry_landed": landed,
    }


def remake_entries(frames: Frames, tables: DataFrame) -> DataFrame:
    """Return the audit entries that were deleted, made again from these landed rows."""
    given = {"ranges": frames["retired_entry_range"], "tables": tables}
    return query(STATEMENTS["retired_entry"], given)


def remember_events(frames: Frames, tables: DataFrame) -> Frames:
    """Return the outbox with the rows that were deleted, and what was compared with them."""
    if frames["retired"].isEmpty():
        return {"retired_landed": make_frame(tables.sparkSession, [], LANDED_SCHEMA)}
    names = {
        "database": DATABASE,
        "audit_database": AUDIT_DATABASE,
        "dead_letter_topic": DEAD_LETTER_TOPIC,
    }
    copies = query(STATEMENTS["retired_copy"], frames, **names)
    outcomes = {event.event_type: event.outcome for event in EVENTS if event.outcome}
    remade = query(
        STATEMENTS["retired_event"],
        {"retired_copy": copies, "tables": tables},
        outcomes=json.dumps(outcomes),
        default_subscriber=SUBSCRIBER,
    )
    events = remade.localCheckpoint(eager=False)  # else each use of them is planned anew
    given = frames | {"retired_event": events}
    changed = {name: query(STATEMENTS[name], given) for name in CHANGED}
    # A union of unions is one union, in which Spark does not find what it has kept of the outboxes.
    kept = frames["outbox"].where("true")
    return changed | {"outbox": kept.unionByName(events, allowMissingColumns=True)}
