"""The matrix: every part, point and fault that is tried, as data."""

from collections.abc import Iterator, Mapping, Sequence
from signal import SIGKILL, SIGSTOP
from typing import NamedTuple

from lab.faults import strikes
from lab.faults.kafka_errors import (
    COORDINATOR_NOT_AVAILABLE,
    NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    OFFSET_COMMIT,
    PRODUCE,
)
from lab.faults.site import WORKERS
from lab.faults.strikes import FETCH, Strike

MANY = 20  # seeds of what may strike at any moment
FEW = 2  # seeds of what lasts for seconds

# The points of a batch, in the sequence in which a worker comes to them.
MOMENTS = {
    "gather": ("before", "during", "after"),
    "read": ("before", "after"),
    "write": ("before", "during", "after"),
    "post": ("before", "during", "after"),
    "mark": ("before", "during", "after"),
    "settle": ("before", "after"),
    "commit": ("before", "during", "after"),
}
CALLBACKS = {"assign": ("before", "after"), "revoke": ("before", "after")}
RECORD = {"record": ("before", "during", "after")}
APPEND = {"append": ("before", "during", "after")}

PROCESSES = {
    "service": WORKERS,
    "audit": ("audit",),
    "postgres": ("postgres",),
    "kafka": ("kafka",),
    "connect": ("connect",),
    "land": ("land",),
    "everything": ("postgres", "kafka", "connect", "audit", *WORKERS, "land"),
}
CLOCKS = ("postgres", "kafka", "connect", "audit", "service", "land")
WIRES = (
    "producer-kafka",
    "service-kafka",
    "service-postgres",
    "service-audit",
    "audit-postgres",
    "connect-postgres",
    "connect-kafka",
    "land-kafka",
)
EFFECTS = {  # what is asked over a wire that has an effect, so that its answer matters
    "producer-kafka": strikes.kafka_request(PRODUCE),
    "service-kafka": strikes.kafka_request(OFFSET_COMMIT),
    "service-postgres": strikes.about_the_run,
    "service-audit": strikes.about_the_run,
    "audit-postgres": strikes.about_the_run,
    "connect-postgres": strikes.anything,
    "connect-kafka": strikes.kafka_request(PRODUCE),
    "land-kafka": strikes.kafka_request(FETCH),
}
ERRORS = {
    "producer-kafka": strikes.answer_with_kafka_error(
        "producer-kafka", PRODUCE, NOT_ENOUGH_REPLICAS_AFTER_APPEND
    ),
    "service-kafka": strikes.answer_with_kafka_error(
        "service-kafka", OFFSET_COMMIT, COORDINATOR_NOT_AVAILABLE
    ),
    "service-postgres": strikes.refuse_role("app", "service-postgres"),
    "service-audit": strikes.answer_with_errors,
    "audit-postgres": strikes.refuse_role("audit", "audit-postgres"),
    "connect-postgres": strikes.refuse_role("cdc", "connect-postgres"),
    "connect-kafka": strikes.answer_with_kafka_error(
        "connect-kafka", PRODUCE, NOT_ENOUGH_REPLICAS_AFTER_APPEND
    ),
    "land-kafka": strikes.refuse("land-kafka"),
}


class Cell(NamedTuple):
    """A fault of a part at a point, and how many seeds it is tried with."""

    part: str
    point: str
    fault: str
    strike: Strike
    seeds: int = FEW

    @property
    def name(self) -> str:
        """Return the name by which `--only` finds it."""
        return f"{self.part}.{self.point}.{self.fault}"

    @property
    def needs_landing(self) -> bool:
        """Return whether a landing goes on beside the other parts."""
        return self.part in ("land", "everything") or self.point.startswith("to-land")


def all_cells() -> list[Cell]:
    """Return every cell, part by part; the landing is at work only for the last ones."""
    cells = [
        Cell("nothing", "nowhere", "none", strikes.do_nothing),
        *point_cells("service", MOMENTS),
        *point_cells("service", CALLBACKS, strikes.restart_a_worker),
        Cell("service", "while-stopping", "kill", strikes.kill_while_stopping, MANY),
        Cell("service", "offsets", "replayed", strikes.replay),
        *point_cells("audit", RECORD),
        *(cell for part in PROCESSES for cell in process_cells(part)),
        *(cell for wire in WIRES for cell in wire_cells(wire)),
        Cell("postgres", "disk", "full", strikes.fill_disk("postgres")),
        Cell("kafka", "disk", "full", strikes.fill_disk("kafka")),
        *point_cells("land", APPEND),
        Cell("land", "disk", "full", strikes.fill_disk("land")),
        Cell("land", "disk", "read-only", strikes.refuse_writes),
        *everything_cells(),
    ]
    parts = list(dict.fromkeys(["nothing", *PROCESSES]))
    return sorted(cells, key=lambda cell: parts.index(cell.part))


def point_cells(
    part: str, moments: Mapping[str, Sequence[str]], stir: Strike = strikes.do_nothing
) -> Iterator[Cell]:
    """Yield the cells of a part's named points: killed there, and frozen there."""
    for step, whens in moments.items():
        for when in whens:
            point = f"{when}-{step}"
            yield Cell(part, point, "kill", strikes.hit_at(point, SIGKILL, stir), MANY)
            yield Cell(part, point, "stop", strikes.hit_at(point, SIGSTOP, stir))


def process_cells(part: str) -> Iterator[Cell]:
    """Yield the cells of a whole process: killed, frozen, and with a wrong clock."""
    names = PROCESSES[part]
    clocks = CLOCKS if part == "everything" else (part,)
    yield Cell(part, "any-moment", "kill", strikes.kill(*names), MANY)
    yield Cell(part, "any-moment", "stop", strikes.stop(*names))
    yield Cell(part, "clock", "ahead", strikes.jump(5, *clocks))
    yield Cell(part, "clock", "behind", strikes.jump(-5, *clocks))


def wire_cells(wire: str) -> Iterator[Cell]:
    """Yield the cells of one hop; they belong to the part that uses the wire."""
    client, _, server = wire.partition("-")
    part = "kafka" if client == "producer" else client
    point = f"from-{client}" if client == "producer" else f"to-{server}"
    yield Cell(part, point, "cut", strikes.cut(wire))
    yield Cell(part, point, "black-hole", strikes.mute(wire))
    yield Cell(part, point, "slow-drip", strikes.drip(wire))
    yield Cell(part, point, "lost-answer", strikes.lose_answers(wire, EFFECTS[wire]))
    yield Cell(part, point, "error-answer", ERRORS[wire])


def everything_cells() -> Iterator[Cell]:
    """Yield what happens on all hops at once."""
    yield Cell("everything", "all-hops", "cut", strikes.cut(*WIRES))
    yield Cell("everything", "all-hops", "black-hole", strikes.mute(*WIRES))
    yield Cell("everything", "all-hops", "slow-drip", strikes.drip(*WIRES))
    yield Cell("everything", "all-hops", "refused", strikes.refuse(*WIRES))
    yield Cell("everything", "one-by-one", "restart", strikes.restart_in_turn)
