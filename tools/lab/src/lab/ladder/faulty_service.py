"""python -m lab.ladder.faulty_service: the real service, killed or frozen as planned."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from lab.ladder.fault_plan import FaultPlan
from service.__main__ import main, wire
from service.consumer import RecordConsumer
from service.handler import Steps
from service.settings import Settings


def wire_with_faults(settings: Settings, engine: Engine, consumer: RecordConsumer) -> Steps:
    """Return the real steps with the faults of the plan in front of three of them."""
    plan = FaultPlan(Path(os.environ["FAULT_PLAN"]))
    return add_faults(wire(settings, engine, consumer), plan)


def add_faults(steps: Steps, plan: FaultPlan) -> Steps:
    """Freeze before the write, die after it, or die when the POST is answered and not marked."""

    def write(items: Sequence[Any]) -> Any:
        plan.begin()
        plan.fail_if_due("freeze", [getattr(item, "message_id", "") for item in items])
        return steps.write(items)

    def post(entries: Sequence[Any]) -> Any:
        message_ids = [entry.message.message_id for entry in entries]
        plan.fail_if_due("gap", message_ids)
        plan.fail_if_due("late", message_ids)
        return steps.post(entries)

    def mark(answers: dict[str, Any]) -> Any:
        plan.fail_if_due("end", answers)
        return steps.mark(answers)

    return steps._replace(write=write, post=post, mark=mark)


if __name__ == "__main__":
    main(wire_with_faults)
