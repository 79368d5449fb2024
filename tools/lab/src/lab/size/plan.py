"""What a load needs: every number follows from the demand, the constants and the settings."""

from dataclasses import dataclass
from math import ceil

from lab.size import parts
from lab.size.constants import Constants
from lab.size.demand import DAY, Demand
from lab.size.queueing import PLANNED, Server, servers_for
from lab.size.setup import Setup
from spark.lake.landed_tables import PROPERTIES

HOUR = 3_600
MIB, GIB = 2**20, 2**30
CHECKPOINT_SECONDS = 300  # PostgreSQL's own checkpoint_timeout
BETWEEN_CHECKPOINTS = 1.9  # max_wal_size holds this many distances between two checkpoints
MARGIN = 1.25  # of the log that an outage keeps: vacuum writes too, and nobody answers at once
DEAD = 1.2  # autovacuum_vacuum_scale_factor: a fifth may be dead before vacuum lets it be reused
SEGMENT = GIB  # log.segment.bytes: the broker deletes whole segments only
SEGMENT_DAYS = 7  # log.roll.hours
SPARE_PARTITIONS = 1.5
FEWEST_WORKERS = 2
CONNECTORS = 2  # of each database: the service's and the audit receiver's
PRODUCER_MIB = 32  # buffer.memory of a producer
HEAP_FACTOR = 1.5  # times what lives: with less, the collector works more than the connectors
HEAP_STEP = 256  # MiB
LARGE_FILE = 128 * MIB  # what compaction makes
COMPACT_HOURS = 1
LOG_DAYS = 8  # landed_tables.PROPERTIES
TOMBSTONE_DAYS = 7  # Delta's own deletedFileRetentionDuration
COMMITS_OF_CHECKPOINT = int(PROPERTIES["delta.checkpointInterval"])


@dataclass(frozen=True)
class Plan:
    """What follows from a demand."""

    demand: Demand
    constants: Constants
    setup: Setup

    @property
    def worker(self) -> Server:
        """Return one service process."""
        return parts.worker(self.constants, self.setup)

    @property
    def task(self) -> Server:
        """Return the task of one connector."""
        return parts.task(self.constants, self.setup)

    @property
    def workers(self) -> int:
        """Return how many service processes there are."""
        return max(FEWEST_WORKERS, servers_for(self.demand.peak, self.worker.capacity))

    @property
    def databases(self) -> int:
        """Return over how many databases the orders are spread, each with connectors of its own."""
        return servers_for(self.demand.peak, self.task.capacity)

    @property
    def partitions(self) -> int:
        """Return how many partitions each topic has."""
        return max(self.setup.partitions, ceil(SPARE_PARTITIONS * self.workers))

    @property
    def of_worker(self) -> float:
        """Return the orders a second of one worker when it is busiest."""
        return self.demand.peak / self.workers

    @property
    def of_task(self) -> float:
        """Return the same of one database, and so of one connector's task."""
        return self.demand.peak / self.databases

    @property
    def log_rate(self) -> float:
        """Return bytes of PostgreSQL's log a second when it is busiest, of all databases."""
        kept = self.demand.kept / self.databases
        orders = self.of_task * CHECKPOINT_SECONDS
        written = parts.log_bytes(self.constants, orders, kept)
        return self.databases * written / CHECKPOINT_SECONDS

    @property
    def outage_log(self) -> float:
        """Return how much log the slots keep until an outage of Connect is over."""
        return MARGIN * self.log_rate * HOUR * self.demand.outage_hours

    @property
    def minutes_of_slot(self) -> float:
        """Return how long the configured limit of a slot lasts in an outage when it is busiest."""
        return self.setup.slot_wal_bytes / (self.log_rate / self.databases) / 60

    @property
    def max_wal(self) -> float:
        """Return the log between checkpoints that come by time and not by size."""
        by_time = BETWEEN_CHECKPOINTS * CHECKPOINT_SECONDS * self.log_rate
        return max(self.setup.max_wal_bytes * self.databases, by_time)

    @property
    def tables(self) -> float:
        """Return the bytes of all tables."""
        return self.demand.kept * parts.table_bytes(self.constants) * DEAD

    @property
    def topics(self) -> float:
        """Return the bytes of all topics in one copy.

        Of each partition a segment more is there: it goes when its last record is old enough.
        """
        rate = self.demand.orders_per_second
        of_database = (rate / self.databases, self.partitions / self.databases)
        found = parts.topic_bytes(self.constants, self.setup, *of_database)
        total = 0.0
        for of_order in found.values():
            a_week = rate * DAY * SEGMENT_DAYS * of_order
            total += self.demand.kept * of_order + min(SEGMENT * self.partitions, a_week)
        return total

    @property
    def heap(self) -> int:
        """Return the MiB of heap of a Connect worker with every connector, while Kafka is down.

        Then each connector has read a whole queue, and its producer has filled its buffer.
        """
        measured = self.constants.connect
        queue = self.setup.queue_events * measured.queued_bytes / MIB
        of_database = CONNECTORS * (queue + PRODUCER_MIB)
        lives = measured.heap_idle_mib + of_database * self.databases
        return HEAP_STEP * ceil(HEAP_FACTOR * lives / HEAP_STEP)

    @property
    def landed_rows(self) -> float:
        """Return the bytes of all landed rows."""
        return self.demand.kept * sum(self.constants.lake.row_bytes.values())

    @property
    def landed_topics(self) -> int:
        """Return how many topics each order has a record on."""
        return len(self.constants.lake.row_bytes)

    @property
    def commits_a_day(self) -> float:
        """Return how many appends a landed table gets: one a trigger, if something came."""
        return min(DAY / self.setup.land_seconds, self.demand.orders_per_second * DAY)

    @property
    def small_files_a_day(self) -> float:
        """Return how many files landing writes to one table."""
        of_append = self.constants.lake.files_of_partition * self.partitions
        return min(self.commits_a_day * of_append, self.demand.orders_per_second * DAY)

    @property
    def files_read(self) -> float:
        """Return how many files a reader of the landed tables opens, just before compaction."""
        large = self.landed_rows / LARGE_FILE + self.landed_topics
        since = self.small_files_a_day * self.landed_topics * COMPACT_HOURS / 24
        return large + since

    @property
    def files_kept(self) -> float:
        """Return how many files are there that compaction has replaced and not yet deleted."""
        return self.small_files_a_day * self.landed_topics * self.setup.keep_days

    @property
    def bytes_kept(self) -> float:
        """Return their bytes: the rows of these days once more, and what a small file costs."""
        rows = self.landed_rows / self.demand.days * self.setup.keep_days
        return rows + self.files_kept * self.constants.lake.file_bytes

    @property
    def lake_logs(self) -> float:
        """Return the bytes of the logs of the landed tables.

        Every hundredth commit writes all files again that the table has, or had a week ago.
        """
        measured = self.constants.lake
        commits = self.commits_a_day * LOG_DAYS * self.landed_topics
        replaced = self.small_files_a_day * min(TOMBSTONE_DAYS, self.demand.days)
        files = self.files_read / self.landed_topics
        checkpoint = replaced * measured.tombstone_bytes + files * measured.entry_bytes
        return commits * (measured.commit_bytes + checkpoint / COMMITS_OF_CHECKPOINT)

    @property
    def cores(self) -> dict[str, float]:
        """Return the cores of each part when it is busiest, at the planned share of their time."""
        seconds = self.constants.cpu.model_dump(exclude={"walsender"})
        return {part: self.demand.peak * of_order / PLANNED for part, of_order in seconds.items()}
