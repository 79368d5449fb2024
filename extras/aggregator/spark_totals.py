"""The aggregator's Spark part: totals summed from landed records, beside those it published."""

from pathlib import Path

from extras.aggregator.names import INPUT_TOPIC, TOTAL_TOPIC, UNRECOVERABLE
from spark.hops import Hop, comes_out, goes_in
from spark.parts import Part
from spark.statements import read_statements

STATEMENTS = read_statements(Path(__file__).with_suffix(".sql"))
HOP = f"{INPUT_TOPIC} → total"

SOURCE = "'batch ' || place"  # never late: the query leaves out what cannot be judged yet
RECORDS_GONE = f"""
    if(
        kind = '{UNRECOVERABLE}',
        'unrecoverable: its records were gone before they could be replayed',
        null
    )
"""


def part() -> Part:
    """Return what the aggregator adds to landing and reconciliation."""
    total = Hop(
        HOP,
        (
            goes_in("batch_sum", id="place", fingerprint="compared", source=SOURCE),
            comes_out(
                "batch",
                id="place",
                effect="event_id",
                fingerprint="compared",
                problem=RECORDS_GONE,
                source=SOURCE,
                when="event_id is not null",
            ),
        ),
    )
    return Part(
        input_topics=(INPUT_TOPIC,),
        event_topics=(TOTAL_TOPIC,),
        tables={"batch": STATEMENTS["batch"].replace("{input_topic}", INPUT_TOPIC)},
        frames={"batch_sum": STATEMENTS["batch_sum"]},
        hops=(total,),
    )
