"""Each hop of the path, as rows that say what went in and what came out, by one id."""

from collections.abc import Mapping
from functools import reduce

from pyspark.sql import DataFrame

from spark.sources import query

# Frames that follow from two others. A redelivery brings a message that was tracked from another record, with the
# same value. Of a dead letter's message another record may have made more.
DERIVED = {
    "acknowledged": "select landed.* from {landed} as landed left semi join {ledger} using (position)",
    "fate": """select position, concat('record ', position) as source, coalesce(buried, outcome) as became,
        if(became <> expected, concat('expected ', expected, ', became ', became), null) as note from {ledger}
        left join (select position, 'dead_letter' as buried from {dead_letter}) using (position)
        left join (select message_id, outcome from {outbox} where outcome is not null) using (message_id)""",
    "redelivery": """select landed.* from {landed} as landed join {tracking} as first using (message_id, sha256)
        where topic = 'order.events' and landed.position <> first.position""",
    "rejection": """select rejection.*, case when winner is null then 'rejected, but nobody fulfilled the order'
        when winner <> fulfilled_by then concat('rejected for ', fulfilled_by, ', fulfilled by ', winner) end as note
        from {outbox} as rejection left join (select order_id, message_id as winner from {fulfillment})
        using (order_id) where outcome = 'rejected'""",
}
COLUMNS = ("hop", "side", "id", "effect", "print", "source", "note")
HANDLED = "order.events → tracking or dead letter"
DECIDED = "tracking → fulfillment or rejection"
VALUE = "coalesce(sha256, 'no value')"
SENT = "concat_ws(' ', key, sha256)"
TO_TOPIC = "'outbox → ' || topic"


def row(
    name: str, side_of: str, id: str, *, when: str = "true", **columns: str
) -> tuple[str, str, str]:
    """A hop, the frame that speaks of it, and SQL for what each of its rows says; what is not given is null."""
    side, frame = side_of.split()
    given = {"hop": f"'{name}'", "side": f"'{side}'", "id": id, "source": "source"} | columns
    fields = ", ".join(f"'{column}', string({given.get(column, 'null')})" for column in COLUMNS)
    return name, frame, f"if({when}, named_struct({fields}), null)"


# In and out are the two sides of a hop. Again: the effect of this record is an earlier one, it was a redelivery.
# Fact: neither went in nor came out, but its print must be that of the others.
HOPS = [
    row("ledger → order.events", "in ledger", "position", print=VALUE),
    row("ledger → order.events", "out acknowledged", "position", effect="'record'", print=VALUE),
    row("ledger → outcome", "in fate", "position", note="note"),
    row("ledger → outcome", "out fate", "position", effect="became"),
    row("topics → landed", "in expected", "position"),
    row("topics → landed", "out landed", "position", effect="row"),
    row(HANDLED, "in landed", "position", print="sha256", when="topic = 'order.events'"),
    row(HANDLED, "again redelivery", "position"),
    row(
        HANDLED,
        "out tracking",
        "position",
        effect="'tracking'",
        print="sha256",
        source="'record ' || position",
    ),
    row(
        HANDLED,
        "out dead_letter",
        "position",
        effect="'dead letter'",
        when="position like 'order.events/%'",
    ),
    row(HANDLED, "fact outbox", "key", print="value_sha256", when="topic = 'dead-letter.events'"),
    row(DECIDED, "in tracking", "message_id"),
    row(DECIDED, "out fulfillment", "message_id", effect="'order ' || order_id", print="facts"),
    row(DECIDED, "out rejection", "message_id", effect="'rejection'", note="note"),
    row(DECIDED, "fact outbox", "message_id", print="facts", when="outcome = 'fulfilled'"),
    row("tracking → outbox", "in tracking", "message_id"),
    row(
        "tracking → outbox",
        "out outbox",
        "message_id",
        effect="event_id",
        when="outcome is not null",
    ),
    row("dead letter → outbox", "in dead_letter", "position"),
    row(
        "dead letter → outbox",
        "out outbox",
        "key",
        effect="event_id",
        when="topic = 'dead-letter.events'",
    ),
    row(
        "tracking → audit entry",
        "in tracking",
        "message_id",
        note="'the audit receiver refused it: ' || audit_error",
    ),
    row(
        "tracking → audit entry",
        "out audit_entry",
        "message_id",
        effect="idempotency_key",
        print="audit",
    ),
    row(
        "tracking → audit entry",
        "fact outbox",
        "message_id",
        print="audit",
        when="outcome is not null",
    ),
    row("tracking → audit mark", "in tracking", "message_id"),
    row("tracking → audit mark", "out tracking", "message_id", effect="if(marked, 'mark', null)"),
    row("audit entry → outbox", "in audit_entry", "audit_entry_id", print="facts"),
    row("audit entry → outbox", "out outbox", "audit_entry_id", effect="event_id", print="facts"),
    row("outbox → topic", "in outbox", "event_id", hop=TO_TOPIC, print=SENT),
    row(
        "outbox → topic",
        "out landed",
        "event_id",
        hop=TO_TOPIC,
        effect="event_id",
        print=SENT,
        when="not is_input",
    ),
]
PATH = list(dict.fromkeys(hop for hop, _, _ in HOPS))


def all_hops(frames: Mapping[str, DataFrame]) -> DataFrame:
    """Every hop as rows of one frame: each source is read once, and one aggregation judges them all."""
    known = {**frames, **{name: query(text, frames) for name, text in DERIVED.items()}}
    rows = {name: ", ".join(sql for _, of, sql in HOPS if of == name) for name in known}
    said = (
        frame.selectExpr(f"inline(array({rows[name]}))")
        for name, frame in known.items()
        if rows[name]
    )
    return reduce(DataFrame.union, said).where("hop is not null and id is not null")
