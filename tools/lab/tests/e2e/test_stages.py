"""A reconciliation on a cluster of one worker, and of two: where its time goes."""

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lab.bench.fill import fill
from lab.environment import throwaway_stack
from lab.stages.tasks import Phase, read_tasks, summarize, table
from ops.settings import ROOT, Settings
from ops.stack.stack import silently
from spark.settings import Settings as SparkSettings
from tests.cluster.engine import class_path, engine
from tests.stacks import PORTS

pytestmark = pytest.mark.prove
ORDERS = int(os.environ.get("STAGES_ORDERS", "200000"))
MOST_OF_ONE_TASK = 0.1  # of the time
AT_ONCE = 500_000
SECONDS = 3_600


@pytest.fixture(scope="module")
def env() -> Iterator[dict[str, str]]:
    """The databases alone, empty."""
    settings = Settings(run_dir=ROOT / ".run" / "test", jars_dir=ROOT / ".run" / "jars")
    with throwaway_stack(settings, silently, "stages", ["postgres"]) as stack:
        yield stack.env()


@pytest.fixture(scope="module")
def filled(env: dict[str, str], spark: SparkSession) -> dict[str, str]:
    """Databases and lake with all that the orders leave."""
    with pytest.MonkeyPatch.context() as patched:
        for name, value in env.items():
            patched.setenv(name, value)
        for first in range(1, ORDERS + 1, AT_ONCE):
            fill(env, SparkSettings(), spark, first, min(first + AT_ONCE - 1, ORDERS))
    return env


def judge(env: dict[str, str], folder: Path, workers: int) -> list[Phase]:
    """Judge everything on so many workers of one core, and return what its phases have spent."""
    events = folder / "events"
    events.mkdir(parents=True)
    jars = class_path()
    values = {
        "spark.driver.extraClassPath": jars,
        "spark.executor.extraClassPath": jars,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.executor.memory": "2g",
        "spark.authenticate.secret": secrets.token_urlsafe(32),
        "spark.cores.max": str(workers),
        "spark.sql.shuffle.partitions": "32",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": f"file:{events}",
        "spark.delta.logStore.file.impl": "lake.FolderLogStore",
    }
    with engine(folder / "conf", PORTS + 241, values, workers=workers, cores=1) as made:
        job = subprocess.run(
            [sys.executable, "-m", "lab.stages.judge"],
            env=os.environ | env | {"SPARK_CONF_DIR": str(made.folder)},
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    assert job.returncode == 0, job.stderr
    phases = json.loads(job.stdout.splitlines()[-1])
    return summarize(phases, read_tasks(events))


def test_no_task_takes_a_tenth_of_the_time(filled: dict[str, str], tmp_path: Path) -> None:
    """With one worker and with two; what would be left with a hundred is shown."""
    runs = {count: judge(filled, tmp_path / str(count), count) for count in (1, 2)}
    print(f"{ORDERS:,} orders", *table(runs), sep="\n")
    for phases in runs.values():
        seconds = sum(phase.seconds for phase in phases)
        longest = max(phases, key=lambda phase: phase.longest)
        assert longest.longest < MOST_OF_ONE_TASK * seconds, longest
