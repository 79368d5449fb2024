"""What a job refuses with one sentence and exit code 2, before it compares anything."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from contract.events import EVENTS
from contract.names import AUDIT_TOPIC, DEAD_LETTER_TOPIC, INPUT_TOPIC, OTHER_OUTBOXES
from contract.pulse import PULSE_TOPIC
from spark.judging.changed import find_changed
from spark.judging.horizon import NotCheckedError, Version
from spark.judging.settled import former_topics
from spark.lake.landed_tables import COLUMNS, SCHEMA, make_tables, read_landed, table_path
from spark.parts import Part, load_parts
from spark.session import make_frame
from spark.settings import Settings
from spark.topics import topics_to_land
from tests.unit.test_horizon import make_horizon

# The columns of the tables that version 0.1 landed: they must stay readable.
FIRST_COLUMNS = """topic string, partition int, offset bigint, timestamp timestamp, key binary,
    value binary, headers array<struct<key: string, value: binary>>"""


def test_the_topics_to_land_follow_from_the_contract() -> None:
    """The input topic, the topics of events, and those of the extras, each once."""
    part = Part(input_topics=("batch.events",), event_topics=("batch-total.events",))
    events = {event.topic for event in EVENTS}
    topics = topics_to_land(Settings(input_topic="purchase.events"), [part])
    assert topics.input == "purchase.events"
    events |= {DEAD_LETTER_TOPIC, PULSE_TOPIC, *OTHER_OUTBOXES, "batch-total.events"}
    assert {*topics.events} == events
    assert sorted(topics.all()) == sorted({"purchase.events", "batch.events", *events})


def test_every_extra_names_its_part() -> None:
    """Each manifest with a Spark part leads to a Part."""
    assert all(isinstance(part, Part) for part in load_parts())


def test_a_data_file_that_is_gone_since_the_horizon_asks_for_a_full_run(
    spark: SparkSession, tmp_path: Path
) -> None:
    """VACUUM deletes what was replaced a week ago: who judges less often is told what to do."""
    root = str(tmp_path)
    make_tables(spark, root, [INPUT_TOPIC])
    path = table_path(root, INPUT_TOPIC)
    row = (INPUT_TOPIC, 0, 0, datetime.now(UTC), None, None, None)
    make_frame(spark, [row], SCHEMA).write.format("delta").mode("append").save(path)
    horizon = make_horizon(versions={INPUT_TOPIC: Version("table", 0)})
    versions = {INPUT_TOPIC: Version("table", 1)}
    assert find_changed(spark, root, horizon, versions).count() == 1
    for file in Path(path).glob("part-*.parquet"):
        file.unlink()
    with pytest.raises(NotCheckedError, match=r"data files of .* are deleted .*reconcile --full"):
        find_changed(spark, root, horizon, versions)


def test_a_topic_that_is_not_landed_is_named(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Outbox rows for a topic without a table end the job; what landed once is still compared."""
    settings = Settings(delta_root=str(tmp_path))
    topics = topics_to_land(settings, [])
    rows = [(topic,) for topic in ("nowhere.events", EVENTS[0].topic, "nowhere.events")]
    outbox = spark.createDataFrame(rows, "topic string")
    with pytest.raises(SystemExit) as ended:
        former_topics(spark, settings, topics, outbox)
    assert ended.value.code == 2
    [sentence] = capsys.readouterr().err.splitlines()
    assert sentence.startswith("topic nowhere.events is not landed")
    make_tables(spark, settings.delta_root, ["nowhere.events"])
    assert former_topics(spark, settings, topics, outbox) == ["nowhere.events"]


def test_a_table_with_other_columns_is_refused(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A table that somebody else wrote is named with its columns; one of version 0.1 is read."""
    root = str(tmp_path)
    first = spark.createDataFrame([], FIRST_COLUMNS)
    first.write.format("delta").save(table_path(root, INPUT_TOPIC))
    make_tables(spark, root, [INPUT_TOPIC, AUDIT_TOPIC])
    assert dict(read_landed(spark, root, [INPUT_TOPIC, AUDIT_TOPIC]).dtypes) == COLUMNS

    other = spark.createDataFrame([], "id bigint, body string")
    other.write.format("delta").save(table_path(root, "other.events"))
    with pytest.raises(SystemExit) as ended:
        read_landed(spark, root, [INPUT_TOPIC, "other.events"])
    assert ended.value.code == 2
    [sentence] = capsys.readouterr().err.splitlines()
    assert "other.events is not a table that this version landed" in sentence
    assert "id bigint, body string" in sentence
