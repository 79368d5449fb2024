"""What a session does by the size of its work."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from spark.session import FEW_ROWS, make_frame, prepare_for
from tests.spark.world import World

PARTITIONS = "spark.sql.shuffle.partitions"
WHOLE_STAGES = "spark.sql.codegen.wholeStage"
EXPRESSIONS = "spark.sql.codegen.factoryMode"


@pytest.fixture(autouse=True)
def few(spark: SparkSession) -> Iterator[None]:
    """Leave the session to the other tests as it was."""
    yield
    prepare_for(spark, 0)


@pytest.mark.parametrize(
    ("rows", "settings"),
    [
        (0, ["1", "false", "NO_CODEGEN"]),
        (FEW_ROWS - 1, ["1", "false", "NO_CODEGEN"]),
        (FEW_ROWS, ["2", "true", "FALLBACK"]),
    ],
)
def test_few_rows_are_neither_divided_nor_compiled_for(
    spark: SparkSession, rows: int, settings: list[str]
) -> None:
    """Each piece of work is a task, and a reconciliation has sixty; each stage is a program."""
    prepare_for(spark, rows)
    names = (PARTITIONS, WHOLE_STAGES, EXPRESSIONS)
    assert [spark.conf.get(name) for name in names] == settings


def test_many_rows_are_judged_as_few_are(spark: SparkSession) -> None:
    """Every outcome of a world with defects is the same with the settings for either."""
    world = World()
    for n in range(6):
        world.fulfill(f"m-{n}")
    outbox, landed = world.tables["outbox"], world.tables["landed"]
    outbox.pop()
    outbox[0]["sha256"] = "another"
    landed.append(landed[0])
    judged = {}
    for rows in (0, FEW_ROWS):
        prepare_for(spark, rows)
        found = world.judged(spark).collect()
        judged[rows] = sorted(map(repr, found))
        spark.catalog.clearCache()
    assert judged[0] == judged[FEW_ROWS]
    outcomes = " ".join(judged[0])
    for outcome in ("missing", "duplicate", "different"):
        assert f"'{outcome}'" in outcomes


def test_what_spark_submit_was_told_stays(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cluster knows better."""
    spark.conf.set(PARTITIONS, "200")
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--master yarn pyspark-shell")
    prepare_for(spark, 0)
    assert spark.conf.get(PARTITIONS) == "200"


def test_a_few_rows_become_a_frame(spark: SparkSession) -> None:
    """Texts, numbers, bytes and nothing come back as they were given."""
    frame = make_frame(
        spark, [("a", 1, "AP8="), (None, 2, None)], "name string, n int, value binary"
    )
    assert [tuple(row) for row in frame.collect()] == [("a", 1, b"\x00\xff"), (None, 2, None)]


def test_a_value_of_another_type_is_refused(spark: SparkSession) -> None:
    """Otherwise it would become null, and be compared as if nothing had been there."""
    frame = make_frame(spark, [("not a number",)], "n int")
    with pytest.raises(Exception, match="MALFORMED_RECORD"):
        frame.collect()
