"""Every setting of the filter, with its default and the reason for the number."""

from socket import gethostname
from typing import Annotated

from pydantic import Field
from pydantic_settings import BaseSettings

from access.kafka import kafka_connection

EVERYWHERE = "0.0.0.0"  # noqa: S104 - compared with, not bound to


class Settings(BaseSettings):
    """Read from the environment; the names are these in upper case."""

    kafka_bootstrap_servers: str = "127.0.0.1:9092"
    filter_input_topic: str = "numbered.events"
    filter_output_topic: str = "filtered.events"
    filter_mark_topic: str = "filter-mark"  # compacted, with as many partitions as the input
    filter_dead_letter_topic: str = "filter-dead-letter.events"
    filter_group_id: str = "filter"

    # Where a record has its number: "value", or "header:NAME".
    filter_number: Annotated[str, Field(pattern=r"^(value|header:.+)$")] = "value"

    filter_host: str = "127.0.0.1"
    filter_port: int = 8084
    # Where other instances send those who ask for a mark that is ours.
    filter_url: str = ""

    filter_batch_records: Annotated[int, Field(ge=1, le=10_000)] = 500  # one transaction
    filter_window_seconds: float = 0.05  # the longest that a lone record waits for company
    # A transaction that is open for longer is aborted by the broker. Whoever takes over the
    # partition of a killed instance waits for that, unless the instance is back before.
    filter_transaction_seconds: float = 15
    session_timeout_ms: int = 10_000  # a killed instance's partitions move after this long
    # Not in the group for so long although its broker answers: the process starts anew.
    rejoin_seconds: float = 20
    retry_seconds: float = 1  # between two attempts, while the broker is away
    stop_seconds: float = 10
    log_level: str = "info"

    @property
    def url(self) -> str:
        """Return the address under which others reach this instance.

        A container listens everywhere, and its name leads to it.
        """
        host = gethostname() if self.filter_host == EVERYWHERE else self.filter_host
        return self.filter_url or f"http://{host}:{self.filter_port}"

    def consumer(self) -> dict[str, str | int | bool]:
        """Return the consumer's settings."""
        return {
            **kafka_connection(self.kafka_bootstrap_servers),
            "group.id": self.filter_group_id,
            # The group tells everybody who owns a partition; with this it tells where, too.
            "client.id": self.url,
            "enable.auto.commit": False,  # offsets are part of the transaction
            "auto.offset.reset": "error",  # lost records are reported, not skipped
            # Neither records nor offsets of a transaction that may still be aborted.
            "isolation.level": "read_committed",
            "partition.assignment.strategy": "cooperative-sticky",
            "session.timeout.ms": self.session_timeout_ms,
            "heartbeat.interval.ms": self.session_timeout_ms // 3,
            "check.crcs": True,
        }

    def producer(self) -> dict[str, str | int | bool]:
        """Return the producer's settings.

        Under the same id, an instance that is back aborts at once what it has left open.
        """
        return {
            **kafka_connection(self.kafka_bootstrap_servers),
            "transactional.id": f"{self.filter_group_id} {self.url}",
            "transaction.timeout.ms": round(1000 * self.filter_transaction_seconds),
            "partitioner": "murmur2_random",  # as Java's clients choose a partition
            "linger.ms": 5,
        }
