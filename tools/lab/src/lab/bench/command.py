"""`pipeline bench`: the arms that were asked for, a table, and the same as JSON in a file."""

import json
import time
from collections.abc import Sequence
from typing import Any

from lab.bench import audit, chain, cost, write
from lab.bench.numbers import lines
from lab.bench.place import BATCH, administer, describe, own_stack
from ops.settings import Settings
from ops.stack.stack import Step
from ops.stack.supervisor import StackError
from service.logs import configure_logs

WHOLE = {"chain": chain.throughput, "latency": chain.latency, "memory": chain.memory}
QUIET = {"write": write.measure, "audit": audit.measure, "cost": cost.measure}  # no Debezium


def bench(
    settings: Settings, step: Step, only: Sequence[str], orders: int, rounds: int
) -> dict[str, Any]:
    """Measure; the result is also written beside the logs of the stack that was measured."""
    if unknown := set(only) - {*WHOLE, *QUIET}:
        raise StackError(
            f"there is no arm {', '.join(unknown)}: choose among {', '.join([*WHOLE, *QUIET])}"
        )
    configure_logs("error")
    orders = (
        max(orders // BATCH, 8) * BATCH
    )  # whole batches, and enough for a naive arm, which gets a fortieth
    with own_stack(settings, step) as stack:
        about, chosen = describe(stack.env()), only or [*WHOLE, *QUIET]
        stack.stop("service")
        numbers = [
            number
            for name in WHOLE
            if name in chosen
            for number in WHOLE[name](stack, orders, rounds)
        ]
        stack.stop("connect")
        with administer(stack.env()) as admin:
            admin.execute(
                "select pg_drop_replication_slot(slot_name) from pg_replication_slots"
            )  # nobody reads on
        numbers += [
            number
            for name in QUIET
            if name in chosen
            for number in QUIET[name](stack, orders, rounds)
        ]
    found = [number._asdict() | {"reached": number.reached()} for number in numbers]
    document = {"machine": about, "orders": orders, "rounds": rounds, "numbers": found}
    file = stack.settings.run_dir / f"{time.strftime('%Y%m%d-%H%M%S')}.json"
    file.write_text(json.dumps(document, indent=2) + "\n")
    return document | {
        "file": str(file),
        "lines": [*lines(numbers), f"medians of {rounds} rounds; {about}"],
    }
