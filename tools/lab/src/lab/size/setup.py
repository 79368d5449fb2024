"""What the parts are configured to do: read from their own settings and files."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from connect.register import read_connector
from connect.settings import Settings as ConnectSettings
from contract.names import INPUT_TOPIC
from ops.settings import ROOT
from service.settings import Settings as ServiceSettings
from spark.settings import Settings as SparkSettings

CONNECTOR = ROOT / "connect" / "fulfillment-outbox.json"
TOPICS = ROOT / "connect" / "topics.json"
POSTGRES = ROOT / "migrations" / "postgresql.conf"


@dataclass(frozen=True)
class Setup:
    """The settings that the calculation rests on."""

    window_seconds: float  # the service's, for company
    batch_records: int
    poll_seconds: float  # the same of a connector
    batch_events: int
    queue_events: int  # that a connector reads ahead
    partitions: int
    max_wal_bytes: float  # of PostgreSQL's log between two checkpoints
    slot_wal_bytes: float  # of it that a slot may keep
    land_seconds: float  # between two appends of the landing
    keep_days: float  # of files that compaction has replaced


def read_setup() -> Setup:
    """Return the settings as they are here; those in the environment count, as they do there."""
    service = ServiceSettings()
    spark = SparkSettings()
    connector = read_connector(ConnectSettings(), CONNECTOR)
    topics = json.loads(TOPICS.read_text())
    return Setup(
        window_seconds=service.batch_window_ms / 1000,
        batch_records=service.batch_records,
        poll_seconds=int(connector["poll.interval.ms"]) / 1000,
        batch_events=int(connector["max.batch.size"]),
        queue_events=int(connector["max.queue.size"]),
        partitions=topics[INPUT_TOPIC]["partitions"],
        max_wal_bytes=read_gigabytes(POSTGRES, "max_wal_size"),
        slot_wal_bytes=read_gigabytes(POSTGRES, "max_slot_wal_keep_size"),
        land_seconds=spark.land_trigger_seconds,
        keep_days=spark.compact_keep_hours / 24,
    )


def read_gigabytes(file: Path, name: str) -> float:
    """Return the bytes of a setting of PostgreSQL that is given in GB."""
    text = file.read_text()
    found = re.search(rf"^{name} = (\d+)GB", text, re.MULTILINE)
    assert found, f"{file}: {name} is not there in GB"
    gigabytes = int(found[1])
    return gigabytes * 2**30
