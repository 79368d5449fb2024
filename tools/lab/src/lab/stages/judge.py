"""python -m lab.stages.judge: judge what `lab.bench.fill` has filled, on a cluster.

The last line of its output is JSON: when each phase began and ended, in milliseconds since 1970.
"""

import json
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from lab.bench.reconcile import look_at_lake, refuse_defects, settle
from spark.judging.comparison import compare
from spark.rows.held import place_to_hold
from spark.session import make_session
from spark.settings import Settings


class Phases:
    """When each part of the work began and ended."""

    def __init__(self) -> None:
        self.moments: dict[str, tuple[int, int]] = {}

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Note when the block began and ended."""
        began = time.time_ns() // 1_000_000
        yield
        self.moments[name] = (began, time.time_ns() // 1_000_000)


def main() -> None:
    """Do what `pipeline reconcile --full` does once everything has landed."""
    settings = Settings()
    spark = make_session("stages", settings.spark_jars_dir)
    phases = Phases()
    held = place_to_hold(spark, f"{settings.delta_root}/held/stages")
    with held, ExitStack() as open_until_the_end:
        with phases.phase("look at the lake"):
            lake = look_at_lake(spark, settings)
        with phases.phase("read the databases"):
            settled = open_until_the_end.enter_context(settle(lake))
        with phases.phase("compare every hop"):
            refuse_defects(compare(spark, settings, [], settled, losses=[]))
    spark.stop()
    sys.stdout.write(json.dumps(phases.moments) + "\n")


if __name__ == "__main__":
    main()
