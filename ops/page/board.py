"""Everything that the page knows: one who asks for each part, all at once."""

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any

from contract.events import EVENTS
from contract.names import DEAD_LETTER_TOPIC, OTHER_OUTBOXES
from ops.guard.findings import Seen
from ops.guard.look import Look, Slot, Task, look_at_connect, look_at_slots, look_for_bursts
from ops.letters.command import Filter, count_letters
from ops.page.answers import Answers
from ops.page.read import (
    Landed,
    LandingReader,
    Rows,
    Topics,
    TopicsReader,
    read_lake,
    read_rows,
)
from ops.stack.stack import Stack
from ops.status import process
from ops.trace.lake import Run

Row = dict[str, Any]


@dataclass
class Board:
    """The latest answers of all parts."""

    tasks: Answers[list[Task]]
    slots: Answers[list[Slot]]
    topics: Answers[Topics]
    rows: Answers[Rows]
    bursts: Answers[list[str]]
    letters: Answers[list[Row]]
    landing: Answers[Landed]
    runs: Answers[list[Run]]
    processes: Answers[list[Row]]
    seen: Seen = field(default_factory=Seen)  # what was seen of the slots
    lock: threading.Lock = field(default_factory=threading.Lock)  # nobody reads it half changed

    def all(self) -> list[Answers[Any]]:
        """Return each that asks."""
        found = [getattr(self, one.name) for one in fields(self)]
        return [one for one in found if isinstance(one, Answers)]

    def start(self, stopping: threading.Event) -> None:
        """Ask in the background until it is time to stop."""
        for answers in self.all():
            threading.Thread(
                target=answers.keep_asking, args=[stopping], name="ask", daemon=True
            ).start()


def outbox_topics() -> list[str]:
    """Return the topics that are published from the service's own outbox."""
    topics = [event.topic for event in EVENTS]
    return list(dict.fromkeys([*topics, DEAD_LETTER_TOPIC]))


@dataclass
class SlotsReader:
    """Looks at the slots, and remembers what moves."""

    ask: Callable[[], list[Slot] | None]
    clock: Callable[[], float]
    seen: Seen = field(default_factory=Seen)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def look(self) -> list[Slot] | None:
        """Return the slots, after taking in what has moved."""
        slots = self.ask()
        if slots is not None:
            with self.lock:
                self.seen.see(Look(self.clock(), None, slots, None, None))
        return slots


def look_at_processes(stack: Stack) -> list[Row]:
    """Return each process of the embedded stack, and where its log is."""
    return [
        {**process(stack, name), "log": os.path.relpath(stack.log(name))} for name in stack.parts
    ]


def make_board(stack: Stack, clock: Callable[[], float]) -> Board:
    """Return what asks the parts of this stack; it has asked nobody yet."""
    env = stack.env()
    settings = stack.settings
    audits = settings.audits and env.get("AUDIT_MODE") != "none"
    rows: Answers[Rows] = Answers(partial(read_rows, env, audits=audits), pause=3.0)
    input_topic = env["INPUT_TOPIC"]
    topics = [input_topic, *outbox_topics(), *OTHER_OUTBOXES]
    topics_reader = TopicsReader(env, topics, lambda: rows.latest)
    held: Answers[Topics] = Answers(topics_reader.look, pause=2.0)
    landing_reader = LandingReader(env, lambda: held.now(clock()))

    def nothing() -> list[Any]:
        return []

    connect = partial(look_at_connect, env) if settings.publishes else nothing
    slots = SlotsReader(partial(look_at_slots, env) if settings.publishes else nothing, clock)
    return Board(
        tasks=Answers(connect, pause=2.0),
        slots=Answers(slots.look, pause=2.0),
        topics=held,
        rows=rows,
        bursts=Answers(partial(look_for_bursts, env), pause=15.0),
        letters=Answers(partial(count_letters, env, Filter()), pause=3.0),
        landing=Answers(landing_reader.look, pause=3.0),
        runs=Answers(partial(read_lake, env), pause=10.0),
        processes=Answers(partial(look_at_processes, stack), pause=3.0),
        seen=slots.seen,
        lock=slots.lock,
    )
