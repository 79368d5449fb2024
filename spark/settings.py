"""Every setting of the Spark jobs, with its default and the reason for the number."""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pydantic_settings import BaseSettings

# What may be deleted: each brings topics, tables and hops of its own.
EXTRAS: list[Any] = [import_module(f"spark.{name}") for name in ("batch_total",) if find_spec(f"spark.{name}")]
INPUTS = ("order.events", *(topic for extra in EXTRAS for topic in extra.INPUTS))  # what others write
TOPICS = ("order.events", "fulfillment.events", "rejection.events", "dead-letter.events", "audit.events")
TOPICS += tuple(topic for extra in EXTRAS for topic in extra.TOPICS)


class Settings(BaseSettings):
    """Read from the environment; the names are these in upper case."""

    kafka_bootstrap_servers: str = "127.0.0.1:9092"
    delta_root: str = "delta"  # a folder, or any address that Hadoop can open
    spark_jars_dir: Path | None = None  # only for a session of one's own; spark-submit has --jars

    topics: tuple[str, ...] = TOPICS
    land_max_offsets: int = 200_000  # in one batch: bounds its memory, whatever the backlog
    land_trigger_seconds: float = 2  # fewer, larger files than one batch after the other

    database_url: str = "postgresql://app@127.0.0.1:5432/fulfillment"
    audit_database_url: str = "postgresql://audit@127.0.0.1:5432/audit"
    reconciler_password_file: Path = Path("/run/secrets/reconciler_password")
    group_id: str = "fulfillment"
    subscriber: str = "fulfillment"
    reconcile_deadline_seconds: float = 120  # heartbeats move an idle slot every 2 s
