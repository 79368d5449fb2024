"""python -m lab.faults.struck_service: the service, with points around each step and callback."""

import os
from pathlib import Path

from sqlalchemy import Engine

from lab.faults.points import Points
from lab.faults.reads import ReadTrace
from service.__main__ import main, wire
from service.consumer import RecordConsumer
from service.handler import Steps
from service.settings import Settings

CALLBACKS = {"gather": "gather", "on_assign": "assign", "on_revoke": "revoke"}


def wire_with_points(settings: Settings, engine: Engine, consumer: RecordConsumer) -> Steps:
    """Return the real steps with points around them, and put points around the callbacks."""
    points = Points(Path(os.environ["FAULT_POINTS"]))
    ReadTrace(Path(os.environ["FAULT_READS"])).follow(consumer)
    for method, name in CALLBACKS.items():
        setattr(consumer, method, points.around(name, getattr(consumer, method)))
    steps = wire(settings, engine, consumer)
    return Steps(*(points.around(*named) for named in steps._asdict().items()))


if __name__ == "__main__":
    main(wire_with_points)
