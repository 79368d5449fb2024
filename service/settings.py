"""Every setting of the service, with its default and the reason for the number."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from pydantic_settings import BaseSettings

from access.kafka import kafka_connection
from access.postgres import DatabaseUrl
from contract.names import DATABASE, INPUT_TOPIC, SUBSCRIBER

# What can happen between two polls: a batch that takes more is polled for in between, whether it
# has many values under one id, is refused, is too slow, or meets an outage.
DATABASE_STEPS = 5  # a connection; write and known; the write of its conflicts; its mark
AUDIT_STEPS = 2  # a connection, and the answer
OFFSET_COMMIT_SECONDS = 5  # for one attempt; the client would wait for more than a minute

TOO_SHORT = (
    "MAX_POLL_INTERVAL_MS={max_poll_interval_ms} is less than twice the slowest batch, {least:.0f}:"
    " BATCH_WINDOW_MS={batch_window_ms}"
    f" + {DATABASE_STEPS} x DATABASE_TIMEOUT_SECONDS={{database_timeout_seconds:g}}"
    f" + {AUDIT_STEPS} x AUDIT_TIMEOUT_SECONDS={{audit_timeout_seconds:g}}"
    f" + {OFFSET_COMMIT_SECONDS} s to commit offsets. Raise the first, or lower a timeout"
)


class Settings(BaseSettings):
    """Read from the environment; the names are these in upper case."""

    database_url: DatabaseUrl = f"postgresql://app@127.0.0.1:5432/{DATABASE}"
    database_password_file: Path = Path("/run/secrets/app_password")
    database_timeout_seconds: float = 5  # a batch takes 20 ms; a stop must be through within 10 s

    kafka_bootstrap_servers: str = "127.0.0.1:9092"
    input_topic: str = INPUT_TOPIC
    group_id: str = SUBSCRIBER
    # A name for each process, such as the pod's of a stateful set: one that is back before its
    # session ends keeps its partitions, and the group does not rebalance.
    group_instance_id: str | None = None
    session_timeout_ms: int = 10_000  # a killed worker's partitions move after this long
    max_poll_interval_ms: int = 300_000  # twice the slowest batch, or more: see worst_batch_seconds
    prefetch_kib: int = 4096  # for each partition; bounds memory when records are large

    # Whose tracking this is. Another subscriber handles each message too, under ids of its own.
    subscriber: str = SUBSCRIBER
    # What a new group does with the records that are on the topic already. The default subscriber
    # handles them; for any other it must be said.
    start_from: Literal["beginning", "end"] | None = None

    dedup_store: str = "tracking"  # or one of the extras
    batch_records: Annotated[int, Field(ge=1, le=1000)] = 500  # one transaction, one POST
    batch_bytes: int = 8 * 1024 * 1024  # so that a batch of large records does not fill the memory
    batch_window_ms: int = 5  # how long the first record of a batch waits for company

    audit_url: str = "http://127.0.0.1:8081"
    audit_timeout_seconds: float = 5  # above the 2 s that the receiver waits for a key in progress

    # "single": an entry in each request, with its key as header, for a receiver without batches.
    # "none": nothing is posted; what is handled meanwhile is never posted by itself.
    audit_mode: Literal["batch", "single", "none"] = "batch"
    audit_trace: bool = True  # false for a receiver that refuses fields which it does not know
    # An entry that alone gets 404, 409 or 425 holds nobody up. It is sent again this often ...
    audit_repeat_seconds: Annotated[float, Field(gt=0)] = 10
    audit_patience_seconds: float = 900  # ... until it counts as refused for good

    retry_first_seconds: float = 0.1
    retry_cap_seconds: float = 5  # an outage that ends is noticed within this long

    # Whose fault a refusal is. What one cause may cost must be little enough to look at by hand.
    refusal_limit: Annotated[int, Field(ge=0)] = 10  # records of one cause that are given up ...
    refusal_window_seconds: float = 600  # ... within this long; then the next one waits
    refusal_probe_seconds: float = 1  # between two probes, and so between two that are buried

    # What comes behind a dead letter of its key waits until the letter is replayed or skipped.
    park: bool = False
    park_limit: Annotated[int, Field(ge=1)] = 10_000  # records that wait; then all wait, and say so

    service_host: str = "127.0.0.1"
    service_port: int = 8080
    stop_seconds: float = 10  # then the process ends as kill -9 would end it, which loses nothing
    poll_recent_seconds: float = 15  # /readyz: a loop that has not polled for this long is stuck
    stuck_seconds: float = 60  # /readyz: records of a partition wait, and none was handled so long
    # Not in the group for so long although its broker answers: the process starts anew. A client
    # that comes back by itself may pause for 10 s before an attempt (reconnect.backoff.max.ms).
    rejoin_seconds: float = 20
    log_level: str = "info"

    @property
    def worst_batch_seconds(self) -> float:
        """Return the longest time without a poll, if every step takes its whole timeout."""
        window = self.batch_window_ms / 1000
        database = DATABASE_STEPS * self.database_timeout_seconds
        post = AUDIT_STEPS * self.audit_timeout_seconds
        return window + database + post + OFFSET_COMMIT_SECONDS

    @model_validator(mode="after")
    def _a_batch_fits_between_two_polls(self) -> Self:
        """Refuse sums under which the group would give our partitions away.

        The factor of two is for a machine that is slow itself, and for a dedup store of an extra.
        """
        least = 2 * 1000 * self.worst_batch_seconds
        if self.max_poll_interval_ms < least:
            raise ValueError(TOO_SHORT.format(least=least, **dict(self)))
        return self

    def kafka(self) -> dict[str, str | int | bool]:
        """Return the client's settings; each differs from its default for the reason beside it."""
        static: dict[str, str | int | bool] = {}
        if self.group_instance_id:
            static["group.instance.id"] = self.group_instance_id
        return static | {
            **kafka_connection(self.kafka_bootstrap_servers),
            "group.id": self.group_id,
            "enable.auto.commit": False,  # an offset is committed after the work, never before
            "auto.offset.reset": "error",  # lost records are reported, not skipped
            "enable.partition.eof": True,  # the end of a partition may be a marker, and no record
            # The default, but the promise hangs on it: what a producer has aborted is no order.
            "isolation.level": "read_committed",
            # A rebalance takes only the partitions that move.
            "partition.assignment.strategy": "cooperative-sticky",
            "session.timeout.ms": self.session_timeout_ms,
            "heartbeat.interval.ms": self.session_timeout_ms // 3,
            "max.poll.interval.ms": self.max_poll_interval_ms,
            # Partitions that are added wait for this long; by default five minutes.
            "topic.metadata.refresh.interval.ms": 10_000,
            # Bytes that a disk or a wire has changed are an error, not an order.
            "check.crcs": True,
            "queued.max.messages.kbytes": self.prefetch_kib,
            # By default a full queue makes the fetcher sleep for a second.
            "fetch.queue.backoff.ms": 10,
        }
