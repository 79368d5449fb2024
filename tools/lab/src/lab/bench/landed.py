"""How long an order takes from its producer to the row of its event in Delta, at a steady rate."""

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles

import duckdb
from confluent_kafka.admin import AdminClient

from contract.names import INPUT_TOPIC
from lab.bench.latency import wait_for_each
from lab.bench.numbers import Number, Target
from lab.bench.running import EVENTS, WARM_UP, running_service
from lab.ladder.environment import empty_topics
from lab.reference_orders import FIRST, send
from ops.stack.stack import Stack
from ops.stack.supervisor import until
from spark.lake.landed_tables import table_path

RATE = 500  # orders a second
SECONDS = 30
LANDED_SECONDS = 120  # a landing that commits nothing for this long is broken
WHAT = f"order → row of its event in Delta, {RATE}/s"


def measure(stack: Stack, orders: int, rounds: int) -> list[Number]:
    """Return median and p95 of the seconds; the landing goes on from round to round."""
    count = min(SECONDS * RATE, orders)
    medians = []
    p95s = []
    with running_landing(stack) as table:
        for n in range(1, rounds + 1):
            with stack.step(f"landed: round {n} of {rounds}"):
                delays = measure_delays(stack, table, count)
            medians.append(median(delays))
            p95s.append(quantiles(delays, n=20)[18])
    goal = Target(goal="<= 2")
    return [
        Number("landed", f"{WHAT}: median", median(medians), "s", rounds=medians),
        Number("landed", f"{WHAT}: p95", median(p95s), "s", *goal, p95s),
    ]


@contextmanager
def running_landing(stack: Stack) -> Iterator[Path]:
    """Land what comes from now on; yield the table of the events."""
    env = stack.env()
    empty_topics(AdminClient({"bootstrap.servers": env["KAFKA_BOOTSTRAP_SERVERS"]}))
    stack.start("land")
    yield Path(table_path(env["DELTA_ROOT"], EVENTS))
    stack.stop("land")


def measure_delays(stack: Stack, table: Path, count: int) -> list[float]:
    """Return the seconds from when each order was due until the row of its event was committed."""
    numbers = range(FIRST, FIRST + count)
    version = next_version(table)
    with (
        running_service(stack, "service") as (producer, _),
        ThreadPoolExecutor(1) as background,
    ):
        read_commits(table, version, WARM_UP)
        version = next_version(table)
        start = time.perf_counter()
        due = [start + n / RATE for n in range(count)]
        sending = background.submit(send, producer, INPUT_TOPIC, wait_for_each(numbers, due))
        landed = read_commits(table, version, numbers)
        sending.result()
    return [came - then for came, then in zip(landed, due, strict=True)]


def next_version(table: Path) -> int:
    """Return the version that the next commit to the table will have."""
    return 1 + max((int(file.stem) for file in table.glob("_delta_log/*.json")), default=-1)


def read_commits(table: Path, version: int, numbers: range) -> list[float]:
    """Return when the commit with the event of each of these orders was seen, from a version on."""
    keys = [f"o-{number}".encode() for number in numbers]
    missing = set(keys)
    moments: dict[bytes, float] = {}
    while missing:
        commit = table / "_delta_log" / f"{version:020}.json"
        assert until(commit.exists, LANDED_SECONDS), (
            f"{len(missing)} of {len(keys)} events have not landed, and there is no {commit}:"
            " see the log of land"
        )
        now = time.perf_counter()
        for key in missing.intersection(read_keys(table, commit)):
            moments[key] = now
            missing.discard(key)
        version += 1
    return [moments[key] for key in keys]


def read_keys(table: Path, commit: Path) -> set[bytes]:
    """Return the keys of the rows that a commit has added."""
    actions = [json.loads(line) for line in commit.read_text().splitlines()]
    files = [str(table / action["add"]["path"]) for action in actions if "add" in action]
    if not files:
        return set()
    with duckdb.connect() as database:
        return {key for (key,) in database.read_parquet(files).project("key").fetchall()}
