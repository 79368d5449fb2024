"""An hour of seeded mixtures: what the parts take must not grow, whatever is done to them."""

import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, NamedTuple

import psutil

from lab.environment import connect_as_admin
from lab.faults.cells import Cell
from lab.faults.facts import Sent
from lab.faults.inspection import inspect
from lab.faults.judge import Finding
from lab.faults.observe import FAILURES
from lab.faults.site import Site
from lab.faults.trial import run_cell
from ops.progress import Note
from ops.stack.supervisor import StackError

Step = Callable[[str], AbstractContextManager[Note]]
EVERY_SECONDS = 5.0
MEASURES = ("memory MiB", "threads", "files", "connections", "log MiB")
# What may come on top of a quarter more: a worker that starts, a segment of the log.
ALLOWANCE = {"memory MiB": 100, "threads": 12, "files": 40, "connections": 6, "log MiB": 64}
# A Java heap grows to its limit, whatever is done; here it may be as large as it was given, and
# what the virtual machine takes beside it.
JAVA_MIB = {"kafka": 512 + 400, "connect": 1024 + 400, "land": 1024 + 1400}
CONNECTIONS = "select count(*) from pg_stat_activity where backend_type = 'client backend'"
KEPT_LOG = """
    select max(pg_wal_lsn_diff(pg_current_wal_insert_lsn(), restart_lsn)) / 1048576
    from pg_replication_slots
"""


class Sample(NamedTuple):
    """What one part took of one thing at one moment."""

    seconds: float
    part: str
    measure: str
    value: float


def measure(site: Site, seconds: float) -> Iterator[Sample]:
    """Yield what every part takes now."""
    for part in site.stack.parts:
        identity = site.stack.supervisor.identity(part)
        if identity is None:
            continue
        with suppress(psutil.Error):
            leader = psutil.Process(identity.pid)
            family = [leader, *leader.children(recursive=True)]
            memory = sum(one.memory_info().rss for one in family) / 2**20
            yield Sample(seconds, part, "memory MiB", memory)
            yield Sample(seconds, part, "threads", sum(one.num_threads() for one in family))
            yield Sample(seconds, part, "files", sum(one.num_fds() for one in family))
    with suppress(*FAILURES), connect_as_admin(site.stack.env()) as admin:
        for name, sql in (("connections", CONNECTIONS), ("log MiB", KEPT_LOG)):
            row = admin.execute(sql.encode()).fetchone()
            if row and row[0] is not None:
                yield Sample(seconds, "postgres", name, float(row[0]))


@contextmanager
def sampled(site: Site) -> Iterator[list[Sample]]:
    """Measure every few seconds while the block runs."""
    samples: list[Sample] = []
    done = threading.Event()
    started = time.monotonic()

    def keep_measuring() -> None:
        while not done.wait(EVERY_SECONDS):
            samples.extend(measure(site, time.monotonic() - started))

    thread = threading.Thread(target=keep_measuring, daemon=True)
    thread.start()
    try:
        yield samples
    finally:
        done.set()
        thread.join()


def soak(
    site: Site, cells: Sequence[Cell], seconds: float, seed: int, step: Step
) -> dict[str, Any]:
    """Run cells that the seed chooses for so long, and return what was measured and found."""
    rng = random.Random(seed)  # noqa: S311 - repeatable, not secret
    deadline = time.monotonic() + seconds
    sent: list[Sent] = []
    findings: list[Finding] = []
    unstruck: list[str] = []
    runs = 0
    with sampled(site) as samples, step("soak") as note:
        while time.monotonic() < deadline:
            runs += 1
            cell = rng.choice(cells)
            note(f"{runs}: {cell.name}")
            try:
                run, own = run_cell(site, cell, seed=1000 * seed + runs)
            except StackError as failure:
                findings.append(Finding("I17", cell.name, str(failure)))
                break
            sent += own
            findings += run.findings
            unstruck += [] if run.hits else [cell.name]
    with step("inspect the soak") as note:
        verdict, later = inspect(site, sent, note)
    series = as_series(samples)
    return {
        "seconds": round(seconds),
        "seed": seed,
        "runs": runs,
        "orders": len(sent),
        "verdict": verdict,
        "findings": [*findings, *later][:20],
        "unstruck": unstruck,
        "growing": list(growing(series)),
        "series": thin(series),
    }


Points = list[tuple[float, float]]
Series = Mapping[str, Mapping[str, Points]]  # by measure and part


def as_series(samples: Sequence[Sample]) -> Series:
    """Return the samples by measure and part."""
    series: dict[str, dict[str, Points]] = defaultdict(lambda: defaultdict(list))
    for seconds, part, name, value in samples:
        series[name][part].append((round(seconds), round(value, 1)))
    return series


def growing(series: Series) -> Iterator[str]:
    """Yield what takes more in the last third than in the second fifth, and is not bounded."""
    for name, parts in series.items():
        for part, points in parts.items():
            last_moment = points[-1][0]
            early = peak(points, 0.2 * last_moment, 0.4 * last_moment)
            late = peak(points, 0.67 * last_moment, last_moment)
            limit = 1.25 * early + ALLOWANCE[name]
            if name == "memory MiB":
                limit = max(limit, JAVA_MIB.get(part, 0))
            if late > limit:
                yield f"{name} of {part}: {late:g}, {early:g} at first"


def peak(points: Points, begin: float, end: float) -> float:
    """Return the most of a span of time."""
    return max((value for seconds, value in points if begin <= seconds <= end), default=0.0)


def thin(series: Series, most: int = 120) -> dict[str, dict[str, Points]]:
    """Return at most so many points of each line, which a picture can show."""
    thinned: dict[str, dict[str, Points]] = {}
    for name, parts in series.items():
        thinned[name] = {
            part: points[:: max(1, len(points) // most)] for part, points in parts.items()
        }
    return thinned


def is_flat(found: Mapping[str, Any]) -> bool:
    """Return whether nothing was lost or doubled, and nothing has grown."""
    return not found["findings"] and not found["growing"]
