"""The job that lands every topic: a Delta table for each topic, a row for each record."""

import argparse
import signal
import sys

from pyspark.errors import StreamingQueryException

from spark.landing_query import exclusive_lock, start_landing
from spark.parts import load_parts
from spark.session import exit_with_error, make_session
from spark.settings import Settings
from spark.topics import topics_to_land


def main() -> None:
    """Land until stopped, or with --once until everything that is there now has landed."""
    parser = argparse.ArgumentParser(prog="python -m spark.land", description=main.__doc__)
    parser.add_argument("--once", action="store_true", help="land what is there now, then end")
    arguments = parser.parse_args()
    settings = Settings()
    topics = topics_to_land(settings, load_parts())
    # SIGTERM may end the job at any moment: the next one repeats what is not complete.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        with exclusive_lock(settings.delta_root):
            spark = make_session("land", settings.spark_jars_dir)
            query = start_landing(spark, settings, topics.all(), once=arguments.once)
            query.awaitTermination()
    except BlockingIOError:
        exit_with_error(f"another land is at work in {settings.delta_root}: stop it first")
    except StreamingQueryException as error:
        exit_with_error(f"landing has ended: {error}")


if __name__ == "__main__":
    main()
