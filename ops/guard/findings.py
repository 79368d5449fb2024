"""What is not well, judged from one look and what the looks before have seen."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ops.guard.look import Look, Slot, Task

# A connector beats every 2 s, and that moves its slot. Two beats, and the second until it is
# confirmed: one that reads nothing for longer than this is silent, whatever its task says.
SILENT_SECONDS = 6.0
LATE_SECONDS = 60.0  # events that wait for longer than this to be published
GROWTH_SECONDS = 60.0  # over which the growth of a slot is measured
SHORT_SECONDS = 3600.0  # a limit that is reached sooner than this is said
MOST_WRITTEN = 2_000  # looks that are remembered of a slot that confirms nothing: an hour of them
GIVEN_UP = ("unreserved", "lost")


class Finding(NamedTuple):
    """One thing that is not well, and what to do."""

    name: str  # the same for all of its kind: a label of the metric
    about: str
    sentence: str
    way_out: str  # a command, or where to read


@dataclass
class SlotSeen:
    """What earlier looks have seen of a slot."""

    confirmed: int = -1
    moved_at: float = 0.0
    # When the log was written up to where: what was written then is published once it is confirmed.
    written: deque[tuple[float, int]] = field(default_factory=deque)
    held: deque[tuple[float, int]] = field(default_factory=deque)

    def see(self, slot: Slot, now: float) -> None:
        """Take in another look."""
        if slot.confirmed != self.confirmed:
            self.confirmed, self.moved_at = slot.confirmed, now
        self.written.append((now, slot.written))
        while self.written and self.written[0][1] <= slot.confirmed:
            self.written.popleft()
        if len(self.written) > MOST_WRITTEN:
            every_second = list(self.written)[::2]  # the oldest stays
            self.written = deque(every_second)
        self.held.append((now, slot.held))
        while now - self.held[0][0] > GROWTH_SECONDS:
            self.held.popleft()

    def waits_for(self, now: float) -> float:
        """Return for how many seconds the oldest change has waited to be read."""
        return now - self.written[0][0] if self.written else 0.0

    def grows_by(self) -> float:
        """Return how many bytes more it keeps each second."""
        began, first = self.held[0]
        ended, last = self.held[-1]
        seconds = ended - began
        if seconds <= 0:
            return 0.0
        return (last - first) / seconds

    def seconds_left(self, slot: Slot) -> float | None:
        """Return when PostgreSQL gives the slot up, if it goes on like this."""
        growth = self.grows_by()
        if slot.left is None or growth <= 0:
            return None
        return slot.left / growth


@dataclass
class Seen:
    """What earlier looks have seen."""

    slots: dict[str, SlotSeen] = field(default_factory=dict)

    def see(self, look: Look) -> None:
        """Take in another look."""
        for slot in look.slots or ():
            self.slots.setdefault(slot.outbox, SlotSeen(moved_at=look.at)).see(slot, look.at)


def judge(look: Look, seen: Seen) -> list[Finding]:
    """Return what is not well."""
    return [
        *of_those_who_do_not_answer(look),
        *of_tasks(look.tasks or ()),
        *(
            finding
            for slot in look.slots or ()
            for finding in of_slot(slot, seen.slots[slot.outbox], look)
        ),
        *of_refusals(look.bursts or ()),
    ]


def of_those_who_do_not_answer(look: Look) -> Iterator[Finding]:
    """Yield a finding for each part that did not answer."""
    parts = {"Connect": look.tasks, "Postgres": look.slots, "Kafka": look.lag}
    for part, answer in parts.items():
        if answer is None:
            yield Finding(
                "no_answer", part, f"{part} does not answer", f"start it, or read the log of {part}"
            )


def of_tasks(tasks: Sequence[Task]) -> Iterator[Finding]:
    """Yield a finding for each task that does not run."""
    for task in tasks:
        if task.state == "FAILED":
            sentence = f"{task} has failed: {task.reason or 'it does not say why'}"
            yield Finding("task_failed", str(task), sentence, "the guard restarts it")
        elif task.state in ("PAUSED", "STOPPED"):
            way_out = f"PUT /connectors/{task.connector}/resume"
            yield Finding("task_paused", str(task), f"{task} was paused by somebody", way_out)


def of_slot(slot: Slot, seen: SlotSeen, look: Look) -> Iterator[Finding]:
    """Yield what is not well with a slot. What would lose events is left to a person."""
    if not slot.is_published:
        yield Finding(
            "publication_missing",
            slot.outbox,
            f"publication outbox of {slot.outbox} lacks the outbox: its events are not published",
            "python -m migrations upgrade, then pipeline outbox resend --missing",
        )
    if not slot.exists or slot.wal_status == "lost":
        what = "is not there" if not slot.exists else "is lost: PostgreSQL has given its log up"
        yield Finding(
            "slot_lost",
            slot.outbox,
            f"slot {slot.name} {what}; a new one would skip what was written meanwhile",
            f"make it again as docs/recover.md says, then pipeline outbox resend --missing"
            f" --outbox {slot.outbox}",
        )
        return
    yield from of_log(slot, seen)
    silent_for = look.at - seen.moved_at
    if silent_for > SILENT_SECONDS:
        state = "its reader is there, and" if slot.active else "nobody reads it, and it"
        yield Finding(
            "slot_silent",
            slot.outbox,
            f"slot {slot.name} is silent: {state} confirms nothing since {silent_for:.0f} s",
            "read the log of Connect",
        )
    waits_for = seen.waits_for(look.at)
    if waits_for > LATE_SECONDS:
        yield Finding(
            "events_late",
            slot.outbox,
            f"events of {slot.outbox} wait for {waits_for:.0f} s to be published",
            "read the log of Connect",
        )


def of_log(slot: Slot, seen: SlotSeen) -> Iterator[Finding]:
    """Yield a finding if PostgreSQL is about to give a slot up."""
    left = seen.seconds_left(slot)
    if slot.wal_status in GIVEN_UP:
        yield Finding(
            "slot_filling",
            slot.outbox,
            f"slot {slot.name} keeps more of the log than it may, and is lost at any moment",
            "raise max_slot_wal_keep_size, and start Connect",
        )
    elif left is not None and left < SHORT_SECONDS:
        yield Finding(
            "slot_filling",
            slot.outbox,
            f"slot {slot.name} keeps {slot.held:,} bytes of the log, and is given up in"
            f" {left / 60:.0f} minutes if it goes on like this",
            "start Connect, or raise max_slot_wal_keep_size",
        )


def of_refusals(bursts: Sequence[str]) -> Iterator[Finding]:
    """Yield a finding for each kind of refusals of which there is a burst."""
    ways_out = {
        "dead letters": "pipeline dead-letters list",
        "audit refusals": "pipeline audit retry",
    }
    for kind in bursts:
        yield Finding("refused", kind, f"a burst of {kind}", ways_out[kind])
