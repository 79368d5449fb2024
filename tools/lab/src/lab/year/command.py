"""`pipeline year`: day after day on one stack, in slices that can be resumed."""

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from lab.environment import PORTS, choose_parts, describe_machine, free_ports, own_settings
from lab.year.ages import AGES
from lab.year.day import Day, Jobs, live
from lab.year.growth import growing, is_long_enough
from lab.year.page import write
from ops.progress import Note
from ops.settings import Settings
from ops.stack.stack import Stack
from ops.stack.supervisor import StackError
from spark import settings as spark_settings
from spark.session import jars_folder, make_session

Step = Callable[[str], AbstractContextManager[Note]]

PARTS = ("postgres", "kafka", "connect", "audit", "service")
LANDING = {
    # Few orders are judged whole; a year has more.
    "RECONCILE_ALL_ORDERS": "50000",
}


@dataclass(frozen=True)
class Choice:
    """What the user has asked for."""

    days: int
    orders: int
    seed: int
    minutes: float
    resume: bool
    output: Path | None


@dataclass
class Year:
    """The days that were lived, in a file beside the data that they have left."""

    file: Path
    days: list[Day] = field(default_factory=list)

    def load(self) -> None:
        """Read the days of earlier slices; refuse if the data of none is there."""
        if not self.file.exists():
            raise StackError(f"--resume: there is no year to go on with in {self.file.parent}")
        lines = self.file.read_text().splitlines()
        self.days = [Day(**json.loads(line)) for line in lines]

    def begin_anew(self) -> None:
        """Forget the days of earlier slices."""
        self.file.unlink(missing_ok=True)

    def add(self, day: Day) -> None:
        """Keep a day."""
        self.days.append(day)
        with self.file.open("a") as stream:
            stream.write(json.dumps(day._asdict()) + "\n")


def year(settings: Settings, step: Step, choice: Choice) -> dict[str, Any]:
    """Live the days that are left, as far as the minutes reach, and return what they have shown."""
    deadline = time.monotonic() + 60 * choice.minutes
    lived = Year(settings.run_dir / "year" / "days.jsonl")
    lived.file.parent.mkdir(parents=True, exist_ok=True)
    if choice.resume:
        lived.load()
    with kept_stack(settings, step, anew=not choice.resume) as stack:
        if not choice.resume:  # not before: another year may be at work
            lived.begin_anew()
        machine = describe_machine(stack.env())
        with spark_session(stack) as spark:
            jobs = Jobs(stack, spark)
            while len(lived.days) < choice.days and time.monotonic() < deadline:
                with step(f"day {len(lived.days) + 1}") as note:
                    day = live(jobs, lived.days, choice.orders, choice.seed, note)
                    lived.add(day)
                    note(day.verdict)
                if not day.ok:
                    break
    if len(lived.days) == choice.days:
        stack.remove_data()
    document = describe(lived.days, choice, machine)
    if choice.output:
        write(document, choice.output)
    return document


@contextmanager
def kept_stack(settings: Settings, step: Step, *, anew: bool) -> Iterator[Stack]:
    """Run a stack of its own whose data stays for the next slice."""
    own = own_settings(settings, "year", free_ports(PORTS), {})
    stack = choose_parts(own, step, PARTS)
    stack.claim()  # stops what a killed slice has left over
    if anew:
        stack.remove_data()
    with stack.running():
        yield stack


@contextmanager
def spark_session(stack: Stack) -> Iterator[SparkSession]:
    """Have the session of all jobs; what is a day old here is younger than Delta's shortest age."""
    os.environ.update(stack.env() | LANDING)
    jars = jars_folder(spark_settings.Settings().spark_jars_dir)
    spark = make_session("year", jars, is_long=True)
    spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    try:
        yield spark
    finally:
        spark.stop()


def describe(days: list[Day], choice: Choice, machine: str) -> dict[str, Any]:
    """Return what the days have shown."""
    return {
        "at": days[-1].date if days else "",
        "machine": machine,
        "orders": choice.orders,
        "seed": choice.seed,
        "wanted": choice.days,
        "ages": AGES,
        "long_enough": is_long_enough(days),
        "not_ok": [f"day {day.number}: {day.verdict}" for day in days if not day.ok],
        "growing": list(growing(days)),
        "days": [day._asdict() for day in days],
    }


def is_flat(document: dict[str, Any]) -> bool:
    """Return whether every verdict was good and nothing has grown."""
    return not document["not_ok"] and not document["growing"]
