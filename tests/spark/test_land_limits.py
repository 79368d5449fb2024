"""What landing does at its limits: a disk that is full, records that are large."""

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from deltalake import DeltaTable
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from spark.land import explain, land
from spark.landing.batch_size import offsets_in_a_batch, sample_sizes
from tests.spark.topics import HELD, Topics, each_once


def send(topics: Topics, topic: str, count: int, size: int) -> None:
    """So many records of this size, which no compression makes smaller."""
    producer = Producer({"bootstrap.servers": topics.bootstrap_servers})
    for n in range(count):
        producer.produce(topic, os.urandom(size), partition=n % 2)
    assert producer.flush(30) == 0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of four megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
    mounted = subprocess.run(mount, capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(disk: Path, room: int) -> Path:
    """Leave only this much room on a disk, and return the file that takes the rest."""
    state = os.statvfs(disk)
    filler = disk / "filler"
    filler.write_bytes(bytes(state.f_bavail * state.f_frsize - room))
    return filler


@pytest.mark.parametrize("room", [0, 150_000], ids=["nothing fits", "the checkpoint fits"])
def test_landing_on_a_full_disk_goes_on_when_there_is_room(
    spark: SparkSession, topics: Topics, small_disk: Path, room: int
) -> None:
    """The batch for which there is no room fails loudly, and lands once when there is some."""
    settings = topics.settings(small_disk)
    first, second = topics.names
    send(topics, first, 10, size=100)
    land(spark, settings, topics.names, HELD, once=True)
    send(topics, first, 10, size=50_000)
    filler = fill(small_disk, room)

    with pytest.raises(StreamingQueryException) as failed:
        land(spark, settings, topics.names, HELD, once=True)
    assert explain(failed.value, "/lake").startswith("no space is left for /lake ")

    assert topics.landed(small_disk) == {first: each_once(10), second: []}
    filler.unlink()
    land(spark, settings, topics.names, HELD, once=True)
    assert topics.landed(small_disk) == {first: each_once(20), second: []}


def rows_of_batches(delta_root: Path, topic: str) -> list[int]:
    """Return how many rows each batch has added to a table."""
    table = DeltaTable(delta_root / "landed" / topic)
    added = [commit["operationMetrics"]["numOutputRows"] for commit in table.history()]
    return [int(rows) for rows in added if int(rows)]


def test_a_batch_of_large_records_is_bounded_by_bytes(
    spark: SparkSession, topics: Topics, tmp_path: Path
) -> None:
    """A batch has no more offsets than LAND_MAX_BYTES has room for, at the average of what waits.

    Control: with the default, all of them are one batch.
    """
    first, second = topics.names
    for name, bound in ((first, 100_000), (second, 268_435_456)):
        send(topics, name, 200, size=2_000)
        settings = topics.settings(tmp_path).model_copy(update={"land_max_bytes": bound})
        land(spark, settings, topics.names, HELD, once=True)
    assert max(rows_of_batches(tmp_path, first)) <= 50
    assert sum(rows_of_batches(tmp_path, first)) == 200
    assert rows_of_batches(tmp_path, second) == [200]


def test_the_largest_records_decide_for_all_partitions(topics: Topics) -> None:
    """Small records in one partition and large ones in the other: the large ones are counted."""
    first, _ = topics.names
    settings = topics.settings(Path()).model_copy(update={"land_max_bytes": 100_000})
    producer = Producer({"bootstrap.servers": topics.bootstrap_servers})
    for _ in range(100):
        producer.produce(first, bytes(10), partition=0)
        headers: dict[str, str | bytes | None] = {"x": bytes(499)}
        producer.produce(first, bytes(4_000), key=bytes(500), headers=headers, partition=1)
    assert producer.flush(30) == 0
    waiting = {(first, 0): range(100), (first, 1): range(100)}
    assert offsets_in_a_batch(settings, waiting) == 20
    assert offsets_in_a_batch(settings, {(first, 0): range(100)}) == 10_000
    assert offsets_in_a_batch(settings, {(first, 1): range(0)}) == settings.land_max_offsets


def test_a_look_at_what_waits_takes_no_second_for_each_fetch(topics: Topics) -> None:
    """Each start of a landing looks at five places, and the client would pause at each of them."""
    for topic in topics.names:
        send(topics, topic, 2_000, size=400)
    waiting = {(topic, number): range(1_000) for topic in topics.names for number in range(2)}
    started = time.monotonic()
    sizes = sample_sizes(topics.bootstrap_servers, waiting)
    assert time.monotonic() - started < 5  # with pauses, more than 10
    assert sizes.keys() == waiting.keys()
