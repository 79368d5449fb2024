"""Outbox rows that retention has deleted, made again from the events that landed."""

import json
from pathlib import Path

from pyspark.sql import DataFrame

from contract.events import EVENTS
from contract.names import AUDIT_DATABASE, DATABASE, DEAD_LETTER_TOPIC, SUBSCRIBER
from spark.frames import Frames, query
from spark.session import make_frame
from spark.statements import read_statements

CHANGED = ("fulfillment", "audit_entry", "retired_landed")
LANDED_SCHEMA = "topic string, contents string, source string"
STATEMENTS = read_statements(Path(__file__).with_suffix(".sql"))


def remember_retired(frames: Frames, tables: DataFrame) -> Frames:
    """Return the outbox with the rows that were deleted, and what else that changes.

    `tables` are the landed tables, as they landed.
    """
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
