"""One run of one cell: orders under load, a fault in the middle, then everything must be right."""

import random
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from lab.faults.cells import Cell
from lab.faults.facts import Sent
from lab.faults.judge import Finding, count_copies, judge
from lab.faults.load import Load, load, write_ledger
from lab.faults.observe import FAILURES
from lab.faults.site import Site
from lab.faults.strikes import Trial
from lab.faults.watch import OffsetWatch
from ops.orders import make_records

ORDERS = 80  # beside them at least one redelivery, conflict, rejection and invalid record
RATE = 40.0  # a second: the load lasts for two seconds, and a strike comes in the first
SETTLE_SECONDS = 150.0  # after it, what is not there is lost
NUDGE_SECONDS = 3.0


class Run(NamedTuple):
    """What one run of a cell has shown."""

    cell: str
    seed: int
    hits: int
    findings: list[Finding]
    recovery_seconds: float
    copies: int  # events that are on their topic once more, with the same bytes: allowed
    revived: list[str]  # what had ended and was started again
    at: str


class Settled(NamedTuple):
    """What is wrong when nothing more is to come."""

    findings: list[Finding]
    copies: int
    revived: list[str]


def prefix_of(cell: str, seed: int) -> str:
    """Return how the ids of a run begin; the same run has the same ids wherever it is repeated."""
    return f"{crc32(cell.encode()):08x}-{seed}"


def run_cell(site: Site, cell: Cell, seed: int) -> tuple[Run, list[Sent]]:
    """Send orders, strike, wait until all is settled, and judge; return what was sent, too."""
    prefix = prefix_of(cell.name, seed)
    rng = random.Random(prefix)  # noqa: S311 - repeatable, not secret
    if cell.needs_landing:
        site.start_landing()
    site.observer.begin(f"{prefix}-")
    samples = make_records(seed, prefix, ORDERS)
    env = site.stack.env()
    with (
        load(site.address("producer-kafka"), samples, RATE) as sending,
        OffsetWatch(env, lambda: sending.sent) as watch,
    ):
        time.sleep(rng.uniform(0, 0.5))
        hits = cell.strike(site, Trial(prefix, rng, sending))
        healed = time.monotonic()
        revived = revive_until_sent(site, sending)
    write_ledger(sending.sent, Path(env["LEDGER_ROOT"], f"{prefix}.jsonl"))
    settled = settle(site, sending.sent, landed=cell.needs_landing)
    run = Run(
        cell=cell.name,
        seed=seed,
        hits=hits,
        findings=[*watch.findings, *settled.findings, *site.reads.check()],
        recovery_seconds=round(time.monotonic() - healed, 2),
        copies=settled.copies,
        revived=revived + settled.revived,
        at=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    return run, sending.sent


def revive_until_sent(site: Site, sending: Load) -> list[str]:
    """Start what has ended, as long as records wait: a part may end some time after its fault."""
    sending.hurry.set()
    revived = site.revive()
    while not sending.done.wait(NUDGE_SECONDS):
        revived += site.revive()
    return revived


def settle(
    site: Site, sent: Sequence[Sent], *, landed: bool, seconds: float = SETTLE_SECONDS
) -> Settled:
    """Judge again and again until nothing is wrong, or until the deadline."""
    revived: list[str] = []
    deadline = time.monotonic() + seconds
    nudge_at = time.monotonic() + NUDGE_SECONDS
    while True:
        copies = 0
        try:
            facts = site.observer.read(sent, landed=landed)
            findings = judge(facts)
            copies = count_copies(facts)
        except FAILURES as failure:
            findings = [Finding("I17", type(failure).__name__, str(failure))]
        if not findings or time.monotonic() > deadline:
            return Settled(findings, copies, revived)
        if time.monotonic() > nudge_at:
            revived += site.revive()
            nudge_at = time.monotonic() + NUDGE_SECONDS
        time.sleep(0.1)
