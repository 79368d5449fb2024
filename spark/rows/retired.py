"""What retention has deleted of the databases, made again from events that landed.

Outbox rows, audit entries and dead letters.
"""

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
LETTERS_SCHEMA = "place string, contents string"
# What only their digests need.
OF_ENTRIES = ("place", "offset", "body_sha256")
OF_LETTERS = ("partition", "offset", "kind")
STATEMENTS = read_statements(Path(__file__).with_suffix(".sql"))


def remember_retired(frames: Frames, tables: DataFrame) -> Frames:
    """Return the frames with the rows that were deleted, and what else that changes.

    `tables` are the landed tables, as they landed.
    """
    others = remember_entries(frames, tables) | remember_letters(frames, tables)
    return others | remember_events(frames | others, tables)


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


def remember_letters(frames: Frames, tables: DataFrame) -> Frames:
    """Return the dead letters with those that were deleted."""
    if frames["retired_letter"].isEmpty():
        return {"retired_letter_landed": make_frame(tables.sparkSession, [], LETTERS_SCHEMA)}
    names = {"dead_letter_topic": DEAD_LETTER_TOPIC, "default_subscriber": SUBSCRIBER}
    given = {"ranges": frames["retired_letter_range"], "tables": tables}
    remade = query(STATEMENTS["retired_letter"], given, **names, database=DATABASE)
    letters = remade.localCheckpoint(eager=False)
    landed = query(
        STATEMENTS["retired_letter_landed"], {"letters": letters}, default_subscriber=SUBSCRIBER
    )
    kept = frames["dead_letter"].where("true")
    return {
        "dead_letter": kept.unionByName(letters.drop(*OF_LETTERS), allowMissingColumns=True),
        "retired_letter_landed": landed,
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
