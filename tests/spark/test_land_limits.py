"""What landing does at its limits: a disk that is full."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from spark.land import explain, land
from tests.spark.topics import Topics, each_once


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
    land(spark, settings, topics.names, once=True)
    send(topics, first, 10, size=50_000)
    filler = fill(small_disk, room)

    with pytest.raises(StreamingQueryException) as failed:
        land(spark, settings, topics.names, once=True)
    assert explain(failed.value, "/lake").startswith("no space is left for /lake ")

    assert topics.landed(small_disk) == {first: each_once(10), second: []}
    filler.unlink()
    land(spark, settings, topics.names, once=True)
    assert topics.landed(small_disk) == {first: each_once(20), second: []}
