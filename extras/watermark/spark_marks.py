"""The high-water mark over a landed topic: what passes, what is dropped, what never counted."""

from pathlib import Path

from pyspark.sql import DataFrame

from contract.names import DEAD_LETTER_TOPIC
from spark.rows.frames import query
from spark.statements import read_statements

STATEMENTS = read_statements(Path(__file__).with_suffix(".sql"))


def watermarked(landed: DataFrame, topic: str) -> DataFrame:
    """Return each record with its sequence and whether it passed; dead letters have neither."""
    return query(
        STATEMENTS["passed"], {"landed": landed}, topic=topic, dead_letter_topic=DEAD_LETTER_TOPIC
    )
