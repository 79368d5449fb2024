"""Each hop of the path, as rows that say what went in and what came out, by one id."""

from collections.abc import Mapping, Sequence
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark.sources import DEAD_LETTERS, FULFILLMENTS, OF_RECORD, ORDERS, REJECTIONS

LEDGER = "ledger → order.events"
EXPECTED = "ledger → outcome"
LANDED = "topics → landed"
HANDLED = "order.events → tracking or dead letter"
DECIDED = "tracking → fulfillment or rejection"
TRACKED_OUT = "tracking → outbox"
BURIED_OUT = "dead letter → outbox"
PUBLISHED = "outbox → "  # and the topic
AUDITED = "tracking → audit entry"
MARKED = "tracking → audit mark"
AUDITED_OUT = "audit entry → outbox"
TO_TOPICS = [f"{PUBLISHED}{topic}" for topic in (FULFILLMENTS, REJECTIONS, DEAD_LETTERS, "audit.events")]
PATH = [LEDGER, EXPECTED, LANDED, HANDLED, DECIDED, TRACKED_OUT, BURIED_OUT, *TO_TOPICS[:3]]
PATH += [AUDITED, MARKED, AUDITED_OUT, TO_TOPICS[3]]

# The side for which a row speaks. AGAIN: the effect of this record is an earlier one, it was a redelivery.
# FACT: neither went in nor came out, but its print must be that of the others.
IN, OUT, AGAIN, FACT = "in", "out", "again", "fact"
DEAD_LETTER = "dead letter"
REJECTION = "rejection"

SENT = "concat_ws(' ', key, sha256)"
PRINT = "coalesce(sha256, 'no value')"

COLUMNS = ("id", "effect", "print", "source", "note")
IS_ORDER = f"topic = '{ORDERS}'"
IS_OF_MESSAGE = f"topic in ('{FULFILLMENTS}', '{REJECTIONS}')"
IS_OF_RECORD = f"topic = '{DEAD_LETTERS}'"
IS_OF_ENTRY = "audit_entry_id is not null"
TOPIC_HOP = f"concat('{PUBLISHED}', topic)"
WRONG_WINNER = """case when winner is null then 'rejected, but nobody fulfilled the order'
    when winner <> fulfilled_by then concat('rejected for ', fulfilled_by, ', fulfilled by ', winner) end"""
REFUSED = "concat('the audit receiver refused it: ', audit_error)"
OTHER_WAY = "if(became <> expected, concat('expected ', expected, ', became ', became), null)"


def row(hop: str, side: str, id: str, when: str = "true", **columns: str) -> str:  # noqa: A002
    """SQL for one row of one hop, where a condition holds; a column that is not given is null."""
    given = {"id": id, "source": "source", **columns}
    strings = ", ".join(f"'{name}', string({given.get(name, 'null')})" for name in COLUMNS)
    name = hop if hop == TOPIC_HOP else f"'{hop}'"
    return f"if({when}, named_struct('hop', {name}, 'side', '{side}', {strings}), null)"


# What a row of each source says about which hop.
SAYS = {
    "expected": [row(LANDED, IN, "position", source="null")],
    "landed": [
        row(LANDED, OUT, "position", effect="row", source="null"),
        row(HANDLED, IN, "position", print="sha256", when=IS_ORDER),
        row(TOPIC_HOP, OUT, "event_id", effect="event_id", print=SENT, when=f"not {IS_ORDER}"),
    ],
    "redelivery": [row(HANDLED, AGAIN, "position")],
    "tracking": [
        row(HANDLED, OUT, "position", effect="'tracking'", print="sha256", source=OF_RECORD),
        row(DECIDED, IN, "message_id"),
        row(TRACKED_OUT, IN, "message_id"),
        row(AUDITED, IN, "message_id", note=REFUSED),
        row(MARKED, IN, "message_id"),
        row(MARKED, OUT, "message_id", effect="'mark'", when="audited or audit_error is not null"),
    ],
    "dead_letter": [row(HANDLED, OUT, "position", effect=f"'{DEAD_LETTER}'"), row(BURIED_OUT, IN, "position")],
    "fulfillment": [row(DECIDED, OUT, "message_id", effect="concat('order ', order_id)", print="facts")],
    "rejection": [row(DECIDED, OUT, "message_id", effect=f"'{REJECTION}'", note=WRONG_WINNER)],
    "outbox": [
        row(TOPIC_HOP, IN, "event_id", print=SENT),
        row(DECIDED, FACT, "message_id", print="facts", when=f"topic = '{FULFILLMENTS}'"),
        row(TRACKED_OUT, OUT, "message_id", effect="event_id", when=IS_OF_MESSAGE),
        row(AUDITED, FACT, "message_id", print="audit", when=IS_OF_MESSAGE),
        row(BURIED_OUT, OUT, "key", effect="event_id", when=IS_OF_RECORD),
        row(HANDLED, FACT, "key", print="value_sha256", when=IS_OF_RECORD),
        row(AUDITED_OUT, OUT, "audit_entry_id", effect="event_id", print="facts", when=IS_OF_ENTRY),
    ],
    "audit_entry": [
        row(AUDITED, OUT, "message_id", effect="idempotency_key", print="audit"),
        row(AUDITED_OUT, IN, "audit_entry_id", print="facts"),
    ],
    "ledger": [row(LEDGER, IN, "position", print=PRINT, source="null")],
    "acknowledged": [row(LEDGER, OUT, "position", effect="'record'", print=PRINT, source="null")],
    "fate": [
        row(EXPECTED, IN, "position", note=OTHER_WAY, source=OF_RECORD),
        row(EXPECTED, OUT, "position", effect="became", source=OF_RECORD, when="became is not null"),
    ],
}


def all_hops(at: Mapping[str, DataFrame]) -> DataFrame:
    """Every hop as rows of one frame: each source is read once, and one aggregation judges them all."""
    orders = at["landed"].where(IS_ORDER)
    known = {
        **at,
        "redelivery": redeliveries(orders, at["tracking"]),
        "rejection": rejections(at["outbox"], at["fulfillment"]),
    }
    if "ledger" in at:
        known["acknowledged"] = orders.join(at["ledger"].select("position"), on="position", how="left_semi")
        known["fate"] = fates(at["ledger"], at["dead_letter"], at["outbox"])
    return reduce(DataFrame.unionByName, (said(frame, SAYS[name]) for name, frame in known.items()))


def said(frame: DataFrame, rows: Sequence[str]) -> DataFrame:
    """The rows of all hops that one source speaks of."""
    each = F.explode(F.array(*map(F.expr, rows))).alias("row")
    return frame.select(each).where("row is not null").select("row.*")


def redeliveries(orders: DataFrame, tracking: DataFrame) -> DataFrame:
    """Records whose message was tracked from another record, with the same value."""
    first = tracking.selectExpr("message_id", "sha256", "position as first_position")
    return orders.join(first, on=["message_id", "sha256"], how="inner").where("position <> first_position")


def rejections(outbox: DataFrame, fulfillment: DataFrame) -> DataFrame:
    """Each rejection beside the message that really fulfilled its order."""
    winner = fulfillment.selectExpr("order_id", "message_id as winner")
    return outbox.where(F.col("topic") == REJECTIONS).join(winner, on="order_id", how="left")


def fates(ledger: DataFrame, dead_letter: DataFrame, outbox: DataFrame) -> DataFrame:
    """What became of each acknowledged record: of a dead letter's message another record may have more."""
    buried = dead_letter.selectExpr("position", "'dead_letter' as buried")
    decided = outbox.where(IS_OF_MESSAGE).selectExpr("message_id", "outcome as decided")
    both = ledger.join(buried, on="position", how="left").join(decided, on="message_id", how="left")
    return both.withColumn("became", F.coalesce("buried", "decided"))
