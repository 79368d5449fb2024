"""What people do on the page about dead letters: planned, confirmed, done in the background."""

import json
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Literal, NamedTuple

import psycopg
from confluent_kafka import KafkaException

from ops.letters.acts import Act, Outcome, choose, is_good, replay, say, skip
from ops.letters.command import Filter, count_letters
from ops.letters.decoded import visible
from ops.progress import Note
from ops.settings import Env
from ops.stack.supervisor import StackError
from ops.trace.databases import Position, parse_position

Kind = Literal["replay", "skip"]
KINDS: tuple[Kind, ...] = ("replay", "skip")
RATE = 100.0  # records a second, as `pipeline dead-letters replay` sends them
KEPT = 10  # acts that the page remembers
FAILURES = (StackError, psycopg.Error, KafkaException, OSError)

Row = dict[str, Any]


class Plan(NamedTuple):
    """What an act would do."""

    kind: Kind
    about: str  # which letters, in words
    letters: Sequence[Position]
    where: str  # what names the same letters in an address

    @property
    def proof(self) -> str:
        """Return what shows that two plans are about the same letters."""
        return digest([str(letter) for letter in self.letters])


def digest(parts: Sequence[str]) -> str:
    """Return a short name for texts that anybody may have written."""
    return sha256(json.dumps(parts).encode()).hexdigest()[:24]


def group_of(row: Row) -> str:
    """Return the name of the letters that have a topic, a kind and a reason in common."""
    return digest([row["topic"], row["kind"], row["reason"]])


def plan_for_group(env: Env, kind: Kind, group: str) -> Plan | None:
    """Return what would be done about the letters of a group; None if there are none any more."""
    for row in count_letters(env, Filter()):
        if group_of(row) == group:
            wanted = Filter(row["kind"], row["reason"], exact=True, topic=row["topic"])
            letters = choose(env, wanted, [], again=kind == "skip")
            about = f"{row['kind']}: {visible(row['reason'])}"
            return Plan(kind, about, letters, f"group={group}")
    return None


def plan_for_letter(env: Env, kind: Kind, position: str) -> Plan | None:
    """Return what would be done about one letter; None if it is not open."""
    found = parse_position(position)
    letters = choose(env, Filter(), [position]) if found else []
    return Plan(kind, position, letters, f"position={position}") if letters else None


def make_plan(env: Env, kind: Kind, group: str, position: str) -> Plan | None:
    """Return what would be done about a group or about one letter."""
    if position:
        return plan_for_letter(env, kind, position)
    return plan_for_group(env, kind, group)


@dataclass
class Doing:
    """An act that was begun, and what has become of it."""

    number: int
    plan: Plan
    act: Act
    began_at: datetime
    note: str = ""  # how far it is
    lines: Sequence[str] = ()  # what has become of the letters
    state: Literal["at work", "done", "not done"] = "at work"


Do = Callable[[Plan, Act, Note], tuple[Sequence[str], bool]]


def act_on(env: Env) -> Do:
    """Return what replays and skips for real."""

    def do(plan: Plan, act: Act, note: Note) -> tuple[Sequence[str], bool]:
        if plan.kind == "skip":
            skip(env, plan.letters, act)
            return [f"{len(plan.letters):,} skipped"], True
        outcomes: list[Outcome] = replay(env, plan.letters, act, RATE, note)
        chosen = len(plan.letters)
        return list(say(outcomes, chosen)), is_good(outcomes, chosen)

    return do


@dataclass
class Desk:
    """Does one act after the other, and remembers the last ones."""

    do: Do
    doings: deque[Doing] = field(default_factory=lambda: deque(maxlen=KEPT))
    lock: threading.Lock = field(default_factory=threading.Lock)
    begun: int = 0

    def begin(self, plan: Plan, act: Act) -> Doing | None:
        """Begin an act in the background; None while another is at work."""
        with self.lock:
            if any(doing.state == "at work" for doing in self.doings):
                return None
            self.begun += 1
            doing = Doing(self.begun, plan, act, datetime.now(UTC))
            self.doings.appendleft(doing)
        threading.Thread(target=self.work, args=[doing], name="act", daemon=True).start()
        return doing

    def work(self, doing: Doing) -> None:
        """Do it, and note how it went."""

        def note(text: str) -> None:
            doing.note = text

        try:
            lines, is_well = self.do(doing.plan, doing.act, note)
        except FAILURES as failure:
            lines, is_well = [f"{failure}"], False
        except Exception as defect:
            doing.lines = [f"{type(defect).__name__}: {defect}"]
            doing.state = "not done"
            raise
        doing.lines = [visible(line) for line in lines]
        doing.state = "done" if is_well else "not done"
