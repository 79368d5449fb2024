"""Pulses (contract/pulse.py): their events are published, and then they are passed over."""

from collections.abc import Callable, Sequence
from typing import Any

import structlog
from pydantic_core import to_json
from sqlalchemy import Engine, text

from contract.pulse import PULSE_EVENT, read_pulse
from service.database import classify_errors
from service.handler import Steps
from service.ids import derive, traceparent
from service.outage import RefusedError
from service.record import Record

log = structlog.get_logger()

Handle = Callable[[Sequence[Record], Steps], None]

# Its event id is derived from where it is: a redelivery publishes nothing more.
PUBLISH = text("""
    insert into outbox (event_id, aggregate_type, aggregate_id, event_type, traceparent, payload)
    select
        event_id,
        'pulse',
        concat_ws('/', topic, partition, "offset"),
        :event_type,
        traceparent,
        json_build_object(
            'pulse_id', pulse_id,
            'subscriber', cast(:subscriber as text),
            'topic', topic,
            'partition', partition,
            'offset', "offset"
        )
    from json_to_recordset(cast(:pulses as json)) as pulse (
        pulse_id text,
        event_id uuid,
        traceparent text,
        topic text,
        partition int,
        "offset" bigint
    )
    on conflict do nothing
""")


def handle_past_pulses(handle: Handle, records: Sequence[Record], steps: Steps) -> None:
    """Publish the pulses of a batch, and take the other records through every step."""
    pulses = [record for record in records if read_pulse(record.headers)]
    if not pulses:
        handle(records, steps)
        return
    steps.publish(pulses)
    others = [record for record in records if record not in pulses]
    if not others:
        steps.commit(records)
        return

    def commit_all(_others: Sequence[Record]) -> None:
        steps.commit(records)

    handle(others, steps._replace(commit=commit_all))


def publish_pulses(engine: Engine, subscriber: str, pulses: Sequence[Record]) -> None:
    """Write the event of each pulse into the outbox; if it is refused, messages go on without."""
    rows = [describe(pulse, subscriber) for pulse in pulses]
    given = {
        "pulses": to_json(rows).decode(),
        "subscriber": subscriber,
        "event_type": PULSE_EVENT,
    }
    try:
        with classify_errors(), engine.connect() as connection:
            connection.execute(PUBLISH, given)
    except RefusedError as refusal:
        log.error("pulse_refused", what=str(refusal))


def describe(pulse: Record, subscriber: str) -> dict[str, Any]:
    """Return what is stored of a pulse."""
    position = "{topic}/{partition}/{offset}".format_map(pulse.place)
    event_id = derive("pulse", position, subscriber)
    return {
        **pulse.place,
        "pulse_id": read_pulse(pulse.headers),
        "event_id": event_id,
        "traceparent": traceparent(None, event_id),
    }
