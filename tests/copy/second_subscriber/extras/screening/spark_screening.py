"""Screening's Spark part: each message that it has tracked has one row and one event."""

from spark.hops import Hop, comes_out, goes_in
from spark.parts import Part

SCREENED = """
    select message_id, 'message ' || message_id as source
    from tracking
    where subscriber = 'screening'
"""
FOUND = """
    select message_id, 'message ' || message_id as source
    from screening
"""
TOLD = """
    select
        payload->>'message_id' as message_id,
        event_id::text,
        'message ' || (payload->>'message_id') as source
    from outbox
    where event_type = 'payment-screened'
"""


def part() -> Part:
    """Return what screening adds to landing and reconciliation."""
    hop = Hop(
        "screened → screening",
        (
            goes_in("screened", id="message_id"),
            comes_out("screening", id="message_id", effect="'row'"),
        ),
    )
    event = Hop(
        "screened → payment-screened",
        (
            goes_in("screened", id="message_id"),
            comes_out("screening_event", id="message_id", effect="event_id"),
        ),
    )
    return Part(
        event_topics=("screening.events",),
        tables={"screened": SCREENED, "screening": FOUND, "screening_event": TOLD},
        hops=(hop, event),
    )
