"""python -m lab.faults.struck_audit: the audit receiver, with points around its transaction."""

import os
import runpy
from pathlib import Path

from lab.faults.points import Points
from service.audit import app
from service.audit.store import record

if __name__ == "__main__":
    points = Points(Path(os.environ["FAULT_POINTS"]))
    vars(app)["record"] = points.around("record", record)
    runpy.run_module("service.audit", run_name="__main__")
