"""The job that lands every topic: a Delta table for each topic, a row for each record."""

import argparse
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import KafkaException
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from spark.kafka.positions import refuse_without_login
from spark.kafka.topic_ids import Later, parse_later
from spark.lake.losses import FORM, Loss, parse_loss
from spark.landing.clock import clock_lead
from spark.landing.landing_query import (
    accept_later,
    accept_losses,
    find_start,
    hold_landing,
    start_landing,
)
from spark.landing.spans import find_append
from spark.lease import Lease
from spark.parts import load_parts
from spark.session import describe, exit_with_error, log_progress, make_session
from spark.settings import Settings
from spark.topics import topics_to_land

# What Kafka, Spark, its JVM or a file may raise.
FAILURES = (KafkaException, PySparkException, Py4JError, OSError)

# Short, for a clock that is wrong for a second only: a trigger that falls into it waits for hours.
CLOCK_CHECK_SECONDS = 0.2


def main() -> None:
    """Land until stopped, or with --once until everything that is there now has landed."""
    parser = argparse.ArgumentParser(prog="python -m spark.land", description=main.__doc__)
    parser.add_argument("--once", action="store_true", help="land what is there now, then end")
    parser.add_argument(
        "--accept-loss",
        action="append",
        default=[],
        type=parse_accepted,
        metavar=FORM,
        help="go on without these records, which Kafka deleted before they landed;"
        " with a topic that was created again: TOPIC@ID",
    )
    parser.add_argument(
        "--ready-file", type=Path, metavar="FILE", help="a file that is there while it may land"
    )
    arguments = parser.parse_args()
    settings = Settings()
    topics = topics_to_land(settings, load_parts())
    # SIGTERM may end the job at any moment: the next one repeats what is not complete.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        refuse_without_login(settings)
        spark = make_session("land", settings.spark_jars_dir)
        with hold_landing(spark, settings, topics.all()) as lease:
            accept(spark, settings, topics.all(), arguments.accept_loss)
            with shown(arguments.ready_file):
                land(spark, settings, topics.all(), lease, once=arguments.once)
    except BlockingIOError:
        exit_with_error(f"another land is at work in {settings.delta_root}: stop it first")
    except FAILURES as error:
        sentence = explain(error, settings.delta_root)
        exit_with_error(f"landing has ended: {sentence}")


@contextmanager
def shown(file: Path | None) -> Iterator[None]:
    """Have a file for the time of the block, for whoever asks whether the job is at work."""
    if file is None:
        yield
        return
    file.touch()
    try:
        yield
    finally:
        file.unlink()


def parse_accepted(text: str) -> Loss | Later:
    """Return what --accept-loss names."""
    return parse_later(text) or parse_loss(text)


def accept(
    spark: SparkSession,
    settings: Settings,
    topics: Sequence[str],
    accepted: Sequence[Loss | Later],
) -> None:
    """Remember what somebody accepts."""
    later = [one for one in accepted if isinstance(one, Later)]
    losses = [one for one in accepted if isinstance(one, Loss)]
    if later:
        accept_later(spark, settings, topics, later)
    if losses:
        accept_losses(spark, settings, topics, losses)


def land(
    spark: SparkSession, settings: Settings, topics: Sequence[str], lease: Lease, *, once: bool
) -> None:
    """Land until the query ends; if it fails, say so if records or files were lost meanwhile."""
    append = find_append()
    try:
        query = start_landing(spark, settings, topics, once=once, append=append)
        while not ended(query, settings.land_trigger_seconds, lease):
            log_progress("the clock was set back: start the query again, or it waits as long")
            query.stop()
            query = start_landing(spark, settings, topics, once=once, append=append)
    except StreamingQueryException:
        lease.beat("its query has ended")
        end_if_lost(lease)
        find_start(spark, settings, topics)
        raise


def end_if_lost(lease: Lease) -> None:
    """End the job if another landing has taken over."""
    if lease.is_lost:
        exit_with_error(
            f"landing has ended: another one has taken over {lease.address}, while this one"
            " stood still; nothing is lost, and nothing landed twice"
        )


def ended(query: StreamingQuery, trigger_seconds: float, lease: Lease) -> bool:
    """Wait until the query ends or the clock is set back; return whether it has ended.

    End the job if another landing has taken over.
    """
    lead = clock_lead()
    # PySpark takes fractions of a second, although its annotation does not say so.
    while not query.awaitTermination(CLOCK_CHECK_SECONDS):  # type: ignore[arg-type]
        end_if_lost(lease)
        lead_before, lead = lead, clock_lead()
        if lead < lead_before - trigger_seconds:
            return False
    return True


def explain(error: Exception, delta_root: str) -> str:
    """Return what went wrong as one sentence."""
    if "No space left on device" in str(error):
        return (
            f"no space is left for {delta_root} or for Spark's temporary files:"
            " make room and land again; nothing is lost"
        )
    return describe(error)


if __name__ == "__main__":
    main()
