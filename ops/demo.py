"""The whole way of a few thousand orders, from a stack that may not run yet to a verdict."""

import sys
import time
from contextlib import nullcontext
from pathlib import Path

from ops.orders import count_kinds, make_records
from ops.positions import try_lag
from ops.produce import ProduceError, new_run, produce
from ops.progress import Note, step
from ops.settings import Settings
from ops.stack.stack import Stack
from ops.stack.supervisor import POLL_SECONDS, StackError

STANDSTILL_SECONDS = 60  # a service that has not come on for this long will not


def demo(stack: Stack, orders: int, seed: int) -> int:
    """Start, produce, wait, land and reconcile; stop what was started; the verdict comes last."""
    try:
        need_tracking(stack.settings)
        with nullcontext() if stack.settings.attach else stack.running():
            code, verdict = go_through(stack, orders, seed)
    except (StackError, ProduceError) as failure:
        print(failure, file=sys.stderr, flush=True)
        code, verdict = 2, "verdict: none was reached, what stood in the way is said above"
    print(verdict)
    return code


def need_tracking(settings: Settings) -> None:
    """Another dedup store writes no tracking rows, and all of its messages would be reported as missing."""
    if settings.dedup_store != "tracking":
        raise StackError(
            f"DEDUP_STORE={settings.dedup_store}: reconciliation compares the tracking table, which it does not "
            "fill; take DEDUP_STORE=tracking, or look into the outbox yourself"
        )


def go_through(stack: Stack, orders: int, seed: int) -> tuple[int, str]:
    """Every step on a stack that runs."""
    run = new_run()
    records = make_records(seed, run, orders)
    kinds = ", ".join(f"{kind} {count}" for kind, count in count_kinds(records).items())
    with step(f"produce {len(records)} records ({kinds})"):
        ledger = produce(stack.env(), run, records)
    with step("handle them") as note:
        wait_until_handled(stack, note)
    with step("land and reconcile") as note:
        return reconcile(stack, ledger, note)


def wait_until_handled(stack: Stack, note: Note) -> None:
    """Until the service has committed every record; one that died or stands still is an error."""
    left, since = -1, time.monotonic()
    while left:
        lags = try_lag(stack.env())
        now = sum(lags.values()) if lags is not None else left
        if now != left:
            left, since = now, time.monotonic()
            note(f"{left} left")
        if not stack.settings.attach and not stack.supervisor.alive("service"):
            raise StackError(
                f"the service has ended, {left} records left{stack.supervisor.tail('service')}"
            )
        if time.monotonic() - since > STANDSTILL_SECONDS:
            raise StackError(
                f"for {STANDSTILL_SECONDS} s the service has not come on, {left} records left"
                + ("" if stack.settings.attach else stack.supervisor.tail("service"))
            )
        time.sleep(POLL_SECONDS)


def reconcile(stack: Stack, ledger: Path, note: Note) -> tuple[int, str]:
    """Land and reconcile as a process of its own; the line with its verdict is kept for the very end."""
    verdict: list[str] = []
    code = stack.pass_through(
        ["spark.reconcile", "--land", "--ledger", str(ledger)],
        lambda line: (
            verdict.append(line) if line.startswith("verdict:") else print(line, flush=True)
        ),
        note,
    )
    if not verdict:
        raise StackError(
            f"reconcile has ended without a verdict{stack.supervisor.tail('spark.reconcile')}"
        )
    return code, verdict[-1]
