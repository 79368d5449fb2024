"""Every setting of the Spark jobs, with its default and the reason for the number."""

from pathlib import Path

from pydantic_settings import BaseSettings

INPUTS = ["order.events"]  # what others write, orders first
TOPICS = [*INPUTS, "fulfillment.events", "rejection.events", "dead-letter.events", "audit.events"]


class Settings(BaseSettings):
    """Read from the environment; the names are these in upper case."""

    kafka_bootstrap_servers: str = "127.0.0.1:9092"
    delta_root: str = "delta"  # a folder, or any address that Hadoop can open
    spark_jars_dir: Path | None = None  # only for a session of one's own; spark-submit has --jars

    topics: list[str] = TOPICS
    land_max_offsets: int = 200_000  # in one batch: bounds its memory, whatever the backlog
    land_trigger_seconds: float = 2  # fewer, larger files than one batch after the other

    database_url: str = "postgresql://app@127.0.0.1:5432/fulfillment"
    audit_database_url: str = "postgresql://audit@127.0.0.1:5432/audit"
    reconciler_password_file: Path = Path("/run/secrets/reconciler_password")
    group_id: str = "fulfillment"
    subscriber: str = "fulfillment"
    reconcile_deadline_seconds: float = 120  # heartbeats move an idle slot every 2 s
