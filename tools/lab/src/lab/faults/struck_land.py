"""python -m lab.faults.struck_land: the landing, with points around the write of each table."""

import os
from functools import partial
from pathlib import Path

from lab.faults.points import Points
from spark import land
from spark.landing.landing_query import append_once, start_landing

if __name__ == "__main__":
    append = Points(Path(os.environ["FAULT_POINTS"])).around("append", append_once)
    vars(land)["start_landing"] = partial(start_landing, append=append)
    land.main()
