"""The high-water mark as a window over landed rows, without the service."""

from datetime import UTC, datetime

import pytest
from pyspark.sql import DataFrame, SparkSession

from extras.watermark.spark_marks import watermarked
from spark.lake.landed_tables import SCHEMA

TOPIC = "order.events"
Header = tuple[str, bytes | None]


def landed(
    spark: SparkSession, *records: tuple[int, list[Header] | None], dead: tuple[str, ...] = ()
) -> DataFrame:
    """Landed records with their partitions and headers, and events of dead letters at positions."""
    at = datetime(2026, 11, 21, tzinfo=UTC)
    rows = [
        (TOPIC, partition, n, at, b"key", b"{}", headers)
        for n, (partition, headers) in enumerate(records)
    ]
    events = [
        ("dead-letter.events", 0, n, at, key.encode(), b"{}", None) for n, key in enumerate(dead)
    ]
    return spark.createDataFrame([*rows, *events], SCHEMA)


def numbered(number: int) -> list[Header]:
    """The header of a sequence number, beside another."""
    return [("message_id", b"m"), ("sequence", str(number).encode())]


def passed(frame: DataFrame) -> list[bool | None]:
    """Whether each record passed, in the sequence of their offsets."""
    return [row.passed for row in watermarked(frame, TOPIC).orderBy("offset").collect()]


@pytest.mark.parametrize("number", range(1, 8))
def test_only_a_greater_number_passes(spark: SparkSession, number: int) -> None:
    """What is not above the mark is dropped, what is above it passes: 1 to 7 over 1, and at 7."""
    record = (0, numbered(number))
    over_one = landed(spark, (0, numbered(1)), record)
    at_seven = landed(spark, (0, numbered(7)), record)
    assert passed(over_one) == [True, number > 1]
    assert passed(at_seven) == [True, False]


def test_each_partition_has_a_mark_of_its_own(spark: SparkSession) -> None:
    """The walk over three partitions: what one has seen says nothing of the others."""
    walk = [  # partition, number, and whether it passes
        (0, 1, True),
        (0, 2, True),
        (1, 1, True),
        (0, 4, True),
        (0, 3, False),
        (2, 2, True),
        (1, 5, True),
        (2, 6, True),
        (1, 5, False),
        (0, 4, False),
    ]
    records = [(partition, numbered(number)) for partition, number, _ in walk]
    expected = [passes for _, _, passes in walk]
    assert passed(landed(spark, *records)) == expected


@pytest.mark.parametrize(
    "headers",
    [
        None,
        [],
        [("sequence", None)],
        [("sequence", b"")],
        [("sequence", b"9\n")],
        [("sequence", b"-9")],
        [("sequence", b"9x")],
        [("sequence", b"\xff9")],
        [("sequence", b"9" * 19)],
        [("sequence", b"9"), ("sequence", b"9")],
    ],
)
def test_a_record_without_a_number_neither_passes_nor_raises_the_mark(
    spark: SparkSession, headers: list[Header] | None
) -> None:
    """A dead letter for its number is neither passed nor dropped, and hides nothing after it."""
    three = landed(spark, (0, numbered(1)), (0, headers), (0, numbered(2)))
    assert passed(three) == [True, None, True]


def test_a_dead_letter_does_not_raise_the_mark(spark: SparkSession) -> None:
    """The service never counted a good number with a bad order, so it is not counted here."""
    records = [(0, numbered(1)), (0, numbered(900)), (0, numbered(2))]
    second = f"{TOPIC}/0/1"
    with_a_dead_letter = landed(spark, *records, dead=(second, second))
    without = landed(spark, *records)
    assert passed(with_a_dead_letter) == [True, None, True]
    assert passed(without) == [True, True, False]
