"""The whole way of a few thousand orders, from a stack that may not run yet to a verdict."""

import sys
import time
from contextlib import nullcontext
from pathlib import Path

from ops.orders import count_kinds, make_records
from ops.positions import try_lag
from ops.produce import new_run, produce
from ops.progress import Note, step
from ops.stack.checks import check_settings, refuse_part_of_the_path
from ops.stack.stack import Stack
from ops.stack.supervisor import POLL_SECONDS, StackError

STANDSTILL_SECONDS = 60  # a service that has made no progress for this long will make none


def demo(stack: Stack, orders: int, seed: int) -> int:
    """Start, produce, wait, land and reconcile; stop what was started; the verdict comes last."""
    try:
        check_settings(stack.settings)
        refuse_part_of_the_path(stack.settings)
        runs_elsewhere = stack.settings.attach
        running = nullcontext() if runs_elsewhere else stack.running()
        with running:
            code, verdict = run_steps(stack, orders, seed)
    except StackError as failure:
        print(failure, file=sys.stderr, flush=True)
        code = 2
        verdict = "verdict: none was reached; the reason is above"
    print(verdict)
    return code


def run_steps(stack: Stack, orders: int, seed: int) -> tuple[int, str]:
    """Take every step on a stack that runs; return exit code and verdict."""
    run = new_run()
    records = make_records(seed, run, orders)
    counts = count_kinds(records)
    counted = [f"{kind} {count}" for kind, count in counts.items()]
    kinds = ", ".join(counted)
    total = len(records)
    with step(f"produce {total} records ({kinds})"):
        ledger = produce(stack.env(), run, records)
    with step("handle them") as note:
        wait_until_handled(stack, note)
    with step("land and reconcile") as note:
        return reconcile(stack, ledger, note)


def wait_until_handled(stack: Stack, note: Note) -> None:
    """Wait until the service has committed every record; fail if it dies or makes no progress."""
    runs_elsewhere = stack.settings.attach
    remaining = -1
    last_progress = time.monotonic()
    while remaining:
        lags = try_lag(stack.env())
        seen = remaining if lags is None else sum(lags.values())
        if seen != remaining:
            remaining = seen
            last_progress = time.monotonic()
            note(f"{remaining} left")
        if not runs_elsewhere and not stack.supervisor.alive("service"):
            log = stack.supervisor.tail("service")
            raise StackError(f"the service has ended, {remaining} records left{log}")
        idle_seconds = time.monotonic() - last_progress
        if idle_seconds > STANDSTILL_SECONDS:
            log = "" if runs_elsewhere else stack.supervisor.tail("service")
            raise StackError(
                f"the service has made no progress for {STANDSTILL_SECONDS} s, "
                f"{remaining} records left{log}"
            )
        time.sleep(POLL_SECONDS)


def reconcile(stack: Stack, ledger: Path, note: Note) -> tuple[int, str]:
    """Land and reconcile as a process of its own; keep the line with its verdict for the end."""
    verdicts: list[str] = []

    def on_line(line: str) -> None:
        if line.startswith("verdict:"):
            verdicts.append(line)
        else:
            print(line, flush=True)

    job = [
        "spark.reconcile",
        "--land",
        "--ledger",
        str(ledger),
    ]
    code = stack.pass_through(job, on_line, note)
    if not verdicts:
        log = stack.supervisor.tail("spark.reconcile")
        raise StackError(f"reconcile has ended without a verdict{log}")
    return code, verdicts[-1]
