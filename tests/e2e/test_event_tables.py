"""The event tables of the contract, filled with what the service and Connect really wrote."""

import json
from pathlib import Path
from typing import Any

from pyspark.sql import Row, SparkSession

from contract.events import EVENTS, Event
from contract.samples import every_sample
from ops.stack.stack import Stack
from spark.event_tables import update_table
from spark.judging.settled import land_here
from spark.parts import load_parts
from spark.settings import Settings
from spark.topics import topics_to_land
from tests.client import Sent, fresh, query, send, until_handled, until_published

OF_EVERY_EVENT = {"event_id", "occurred_at", "unreadable", "topic", "partition", "offset"}


def send_samples(run: str) -> None:
    """Send every sample of the contract that is a message, and wait until all are handled."""
    messages = [sample for sample in every_sample(run) if sample.message_id and sample.value]
    send([Sent(sample.message_id, sample.order_id, sample.value) for sample in messages])
    until_handled()


def bodies(event: Event, run: str) -> dict[str, dict[str, Any]]:
    """Return the bodies that the outbox has of these messages, by event id, once published."""
    rows = query(
        "select event_id::text, payload::text from outbox"
        " where event_type = %s and payload->>'message_id' like %s",
        event.event_type,
        f"{run}-%",
    )
    found = {event_id: json.loads(payload) for event_id, payload in rows}
    until_published(event.topic, lambda one: one.headers["id"].decode() in found, len(found))
    return found


def check_row(row: Row, body: dict[str, Any]) -> None:
    """Assert that each field of a body has a column, with its value."""
    columns = row.asDict(recursive=True)
    assert set(columns) == OF_EVERY_EVENT | set(body)
    assert columns["occurred_at"]
    assert columns["unreadable"] is None
    for name, value in body.items():
        column = columns[name]
        same = column == value if isinstance(column, str) else bool(column) == bool(value)
        assert same, f"{name}: {column!r} of {value!r}"


def test_the_events_of_every_sample_have_their_rows(
    stack: Stack, spark: SparkSession, common_lake: Path
) -> None:
    """Each event of the outbox has one row, and each field of its body a column with its value."""
    run = fresh("tables")
    send_samples(run)
    expected = {event: bodies(event, run) for event in EVENTS}
    assert all(expected.values())

    settings = Settings(delta_root=str(common_lake))
    land_here(spark, settings, topics_to_land(settings, load_parts()))
    for event in EVENTS:
        table = update_table(spark, settings.delta_root, event)
        rows = table.where(table.message_id.startswith(f"{run}-")).collect()
        assert sorted(row.event_id for row in rows) == sorted(expected[event])
        for row in rows:
            check_row(row, expected[event][row.event_id])
