"""How old everything is: ages are counted in simulated days, and no clock is changed.

A day lasts as long as its work takes. So "older than 8 days" means: from before the moment at which
the eighth day before this one began. Delta's log has an age of its own, in whole days of the
calendar: its files are made a day older each day.
"""

import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient

from spark.kafka.positions import partitions_of
from spark.settings import SECONDS_OF_A_DAY, Settings

# A quarter of the defaults, so that a year is long enough to come past the longest one.
AGES = {
    "retention_outbox_days": 8,
    "retention_tracking_days": 15,
    "retention_audit_days": 100,
    "retention_letters_days": 100,
    "retention_landed_days": 100,
    "reconcile_keep_days": 100,
}
LONGEST = max(AGES.values())
# What Kafka and Delta keep by default, not scaled: both are shorter than what they must outlive.
KAFKA_DAYS = 7
OLD_FILES_DAYS = 7  # reconciliation counts on it; VACUUM rounds it to whole hours, here to none

FAR_TOO_OLD = 10_000.0  # days: the year has not lasted for so long
TIMEOUT_SECONDS = 30


def scale(settings: Settings, began: Sequence[float]) -> Settings:
    """Return the settings with ages that mean simulated days; `began` is when each day began."""
    scaled = {}
    for name, days in AGES.items():
        scaled[name] = wall_days(began, days)
    scaled["compact_keep_hours"] = 24 * wall_days(began, OLD_FILES_DAYS)
    return settings.model_copy(update=scaled)


def wall_days(began: Sequence[float], days: int) -> float:
    """Return how long ago so many simulated days are, in days of the clock on the wall."""
    if len(began) <= days:
        return FAR_TOO_OLD
    since = began[-1 - days]
    return (time.time() - since) / SECONDS_OF_A_DAY


def age_delta_logs(delta_root: Path) -> None:
    """Make every file of every Delta log one day older."""
    for file in delta_root.glob("**/_delta_log/*"):
        if file.is_file():
            at = file.stat().st_mtime - SECONDS_OF_A_DAY
            os.utime(file, (at, at))


def delete_from_kafka(bootstrap: str, topics: Iterable[str], began: Sequence[float]) -> None:
    """Let Kafka delete what is older than its retention, as it does by itself with whole days."""
    if len(began) <= KAFKA_DAYS:
        return
    admin = AdminClient({"bootstrap.servers": bootstrap})
    since = round(1000 * began[-1 - KAFKA_DAYS])
    asked = [
        TopicPartition(topic, partition, since)
        for topic, partition in partitions_of(admin, list(topics))
    ]
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": "year",
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
    }
    with Consumer(settings) as consumer:
        found = consumer.offsets_for_times(asked, timeout=TIMEOUT_SECONDS)
    is_there = [one for one in found if one.offset >= 0]
    for deleted in admin.delete_records(is_there).values():
        deleted.result(TIMEOUT_SECONDS)
