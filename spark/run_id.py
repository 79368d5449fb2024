"""The id of a reconciliation: when it began. The later id is the greater one."""

from datetime import UTC, datetime

RUN_ID = "%Y%m%dT%H%M%S.%fZ"


def began_at(run_id: str) -> datetime:
    """Return when a run began."""
    return datetime.strptime(run_id, RUN_ID).replace(tzinfo=UTC)
