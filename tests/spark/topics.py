"""Topics of a test's own: what is sent to them, and what should have landed of it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from deltalake import DeltaTable, QueryBuilder
from pyspark.sql import SparkSession

from spark.landing.landing_query import start_landing
from spark.lease import Lease
from spark.settings import Settings
from tests.client import until

PARTITIONS = 2


class SafeLease(Lease):
    """A lease that nobody takes over, and that has no files."""

    def beat(self, text: str) -> None:
        """Write nothing."""


HELD = SafeLease(cast("SparkSession", None), "lease/land", 1, is_taken_over=False)


@dataclass(frozen=True)
class Topics:
    """Two topics with two partitions each."""

    bootstrap_servers: str
    names: tuple[str, str]

    @staticmethod
    def make(bootstrap_servers: str) -> "Topics":
        """New topics."""
        suffix = uuid4().hex[:8]
        topics = Topics(bootstrap_servers, (f"first.{suffix}", f"second.{suffix}"))
        admin, wanted = topics.admin, [NewTopic(name, PARTITIONS, 1) for name in topics.names]
        for made in admin.create_topics(wanted).values():
            made.result(30)
        # The controller has them; the broker tells of them a moment later.
        until(
            lambda: set(admin.list_topics(timeout=10).topics),
            lambda found: found.issuperset(topics.names),
            30,
            f"the broker does not tell of {topics.names}",
        )
        return topics

    @property
    def admin(self) -> AdminClient:
        """Return the broker's administration client; keep it while an answer is due."""
        return AdminClient({"bootstrap.servers": self.bootstrap_servers})

    def send(self, topic: str, count: int) -> None:
        """So many records, in turn on each partition."""
        producer = Producer({"bootstrap.servers": self.bootstrap_servers})
        for n in range(count):
            producer.produce(topic, f"value {n}".encode(), f"key {n}".encode(), n % PARTITIONS)
        assert producer.flush(30) == 0

    def forget(self, topic: str, below: int) -> None:
        """Delete the records of every partition below an offset, as retention does."""
        wanted = [TopicPartition(topic, partition, below) for partition in range(PARTITIONS)]
        admin = self.admin
        for deleted in admin.delete_records(wanted).values():
            deleted.result(30)

    def remove(self) -> None:
        """Leave nothing behind."""
        admin = self.admin
        for removed in admin.delete_topics(list(self.names)).values():
            removed.result(30)

    def settings(self, delta_root: Path) -> Settings:
        """Settings of a landing of their own."""
        return Settings(kafka_bootstrap_servers=self.bootstrap_servers, delta_root=str(delta_root))

    def landed(self, delta_root: Path) -> dict[str, list[tuple[int, int]]]:
        """The partition and offset of every row, as a reader sees them that is not Spark."""
        return {
            name: [(row["partition"], row["offset"]) for row in rows_of(delta_root, name)]
            for name in self.names
        }


def rows_of(delta_root: Path, topic: str) -> list[dict[str, Any]]:
    """What has landed of a topic, in the sequence of its offsets."""
    table = DeltaTable(delta_root / "landed" / topic)
    query = 'select * from landed order by partition, "offset"'
    found = QueryBuilder().register("landed", table).execute(query).read_all()
    columns = [found[name].to_pylist() for name in found.column_names]
    return [
        dict(zip(found.column_names, values, strict=True)) for values in zip(*columns, strict=True)
    ]


def each_once(count: int) -> list[tuple[int, int]]:
    """Return the partition and offset of this many records, each once."""
    return sorted((n % PARTITIONS, n // PARTITIONS) for n in range(count))


def land_once(spark: SparkSession, topics: Topics, delta_root: Path) -> None:
    """Land what is there, as `land --once` does in a process of its own."""
    settings = topics.settings(delta_root)
    query = start_landing(spark, settings, topics.names, once=True)
    query.awaitTermination()
