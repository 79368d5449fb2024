"""Numbers and times as people read them on the page."""

from datetime import UTC, datetime

MINUTE, HOUR, DAY = 60, 3600, 86_400
RUN_ID = "%Y%m%dT%H%M%S.%fZ"


def seconds(value: float) -> str:
    """Return a duration with as much of it as matters."""
    if value < 1:
        return f"{value * 1000:.0f} ms"
    if value < 10:
        return f"{value:.1f} s"
    if value < 2 * MINUTE:
        return f"{value:.0f} s"
    if value < 2 * HOUR:
        return f"{value / MINUTE:.0f} min"
    if value < 2 * DAY:
        return f"{value / HOUR:.0f} h"
    return f"{value / DAY:.0f} d"


def count(value: int) -> str:
    """Return a number with its thousands apart."""
    return f"{value:,}"


def short_count(value: int) -> str:
    """Return a number that fits into a box."""
    for letter, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if value >= size:
            return f"{value / size:.1f}{letter}"
    return count(value)


def pace(value: float | None) -> str:
    """Return how many there are each second; nothing while that is not known."""
    if value is None:
        return ""
    is_whole = value >= 10 or value < 0.05
    return f"{value:,.0f}/s" if is_whole else f"{value:.1f}/s"


def since(moment: datetime) -> str:
    """Return how long ago something was."""
    ago = (datetime.now(UTC) - moment).total_seconds()
    return f"{seconds(max(0, ago))} ago" if ago >= 1 else "now"


def moment(value: datetime | None) -> str:
    """Return a time of day and its day, in UTC."""
    return value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S") if value else "not known"


def began_at(run_id: str) -> datetime:
    """Return when a reconciliation began."""
    return datetime.strptime(run_id, RUN_ID).replace(tzinfo=UTC)
