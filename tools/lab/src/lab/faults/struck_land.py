"""python -m lab.faults.struck_land: the landing, with points around the write of each table."""

import os
from pathlib import Path

from lab.faults.points import Points
from spark import land
from spark.landing.landing_query import append_batch

if __name__ == "__main__":
    append = Points(Path(os.environ["FAULT_POINTS"])).around("append", append_batch)
    vars(land)["find_append"] = lambda: append
    land.main()
