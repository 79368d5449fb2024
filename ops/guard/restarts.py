"""When a task that has failed is restarted: at once, then ever later, and not for ever."""

from dataclasses import dataclass, field

# Seconds between restarts of one task. After the last, a person has to look: what fails so often is
# not mended by another start.
PAUSES = (0.0, 10.0, 30.0, 60.0, 120.0)
WELL_AGAIN_SECONDS = 600.0  # a task that has run for so long has its restarts back


@dataclass
class Restarts:
    """What was tried for one task."""

    tried_at: list[float] = field(default_factory=list)
    well_since: float | None = None

    def note_well(self, now: float) -> None:
        """Note that it runs."""
        if self.well_since is None:
            self.well_since = now
        if now - self.well_since >= WELL_AGAIN_SECONDS:
            self.tried_at.clear()

    def is_due(self, now: float) -> bool:
        """Return whether it is to be restarted now; if so, note that it is."""
        self.well_since = None
        if self.is_given_up:
            return False
        last = self.tried_at[-1] if self.tried_at else now
        if now - last < PAUSES[len(self.tried_at)]:
            return False
        self.tried_at.append(now)
        return True

    @property
    def is_given_up(self) -> bool:
        """Return whether it was restarted as often as it is."""
        return len(self.tried_at) == len(PAUSES)
