"""Every setting of the Spark jobs, with its default and the reason for the number."""

from pathlib import Path

from pydantic_settings import BaseSettings

from access.postgres import DatabaseUrl
from contract import names
from contract.age import format_age, longest_replay

SECONDS_OF_A_DAY = 86_400

TRACKING = "tracking"  # the dedup store that keeps a row for each message


class Settings(BaseSettings):
    """Read from the environment; the names are these in upper case."""

    kafka_bootstrap_servers: str = "127.0.0.1:9092"
    input_topic: str = names.INPUT_TOPIC
    delta_root: str = "delta"  # a folder, or any address that Hadoop can open
    spark_jars_dir: Path | None = None  # only for a session of one's own; spark-submit has --jars

    land_max_offsets: int = 200_000  # in one batch: bounds its memory, whatever the backlog
    land_max_bytes: int = 256 * 1024 * 1024  # the same for large records: an eighth of the heap
    land_trigger_seconds: float = 2  # fewer, larger files than one batch after the other
    compact_keep_hours: float = 168  # above the longest query, and a week of going back in time
    # How long what retention deletes is kept at least.
    retention_tracking_days: float = 60  # above the longest replay, of a dead letter too
    retention_outbox_days: float = 30  # above the time in which an event is sent again
    retention_landed_days: float = 400  # a year, and who asks late
    retention_audit_days: float = 400  # entries: above the longest replay of who sends them
    retention_letters_days: float = 400  # dead letters that are closed: a year, and who asks late
    reconcile_keep_days: float = 400  # reports and outcomes: a year, and who asks late

    database_url: DatabaseUrl = f"postgresql://app@127.0.0.1:5432/{names.DATABASE}"
    audit_database_url: DatabaseUrl = f"postgresql://audit@127.0.0.1:5432/{names.AUDIT_DATABASE}"
    reconciler_password_file: Path = Path("/run/secrets/reconciler_password")
    purger_password_file: Path = Path("/run/secrets/purger_password")  # only for retention
    resender_password_file: Path = Path("/run/secrets/resender_password")  # only for repair
    subscriber: str = names.SUBSCRIBER
    group_id: str = names.SUBSCRIBER
    dedup_store: str = TRACKING  # the service's
    reconcile_deadline_seconds: float = 120  # heartbeats move an idle slot every 2 s
    reconcile_behind_seconds: float = 60  # above a rebalance, a restart, the longest batch
    reconcile_all_orders: int = 200_000  # fewer are all judged each time
    reconcile_all_every: int = 24  # runs, within which all that is old is confirmed; hourly: a day
    reconcile_digest_orders: int = 50_000  # for fewer, one look at each id costs less than digests

    def databases(self) -> dict[str, str]:
        """Return where each database with an outbox is."""
        return {
            names.DATABASE: self.database_url,
            names.AUDIT_DATABASE: self.audit_database_url,
        }


def refuse_young(settings: Settings) -> str | None:
    """Say which age is too young for what may come again in a replay."""
    replay = longest_replay()
    ages = {
        "RETENTION_TRACKING_DAYS": settings.retention_tracking_days,
        "RETENTION_AUDIT_DAYS": settings.retention_audit_days,
    }
    for name, days in ages.items():
        if days * SECONDS_OF_A_DAY < replay:
            return (
                f"{name}={days:g} is too young: a replay may take {format_age(replay)} "
                "(longest_replay in pyproject.toml), and what is deleted before it comes again "
                "is not known any more"
            )
    return None
