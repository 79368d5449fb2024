"""The plan for people: one line for each number, with the reason why it is that number."""

from collections.abc import Iterator
from textwrap import wrap
from typing import NamedTuple

from lab.size import parts
from lab.size.plan import (
    CHECKPOINT_SECONDS,
    COMMITS_OF_CHECKPOINT,
    CONNECTORS,
    GIB,
    LARGE_FILE,
    LOG_DAYS,
    MIB,
    Plan,
)
from lab.size.queueing import PLANNED

REASON_WIDTH = 70  # characters


class Line(NamedTuple):
    """One number of the plan."""

    part: str
    what: str
    value: float
    unit: str
    why: str


def lines(plan: Plan) -> Iterator[Line]:
    """Yield every number with its reason, part by part."""
    yield from of_load(plan)
    yield from of_postgres(plan)
    yield from of_kafka(plan)
    yield from of_lake(plan)


def of_load(plan: Plan) -> Iterator[Line]:
    """Yield workers, partitions, databases, and how busy and how late they are."""
    one, publishing = plan.worker, plan.task
    yield Line(
        "service",
        "workers",
        plan.workers,
        "",
        f"one does at most {one.capacity:,.0f}/s, {1000 * one.fixed:.1f} ms a batch and "
        f"{1e6 * one.each:.0f} µs an order; {PLANNED:.0%} of it is planned, and one may die",
    )
    yield Line(
        "service",
        "utilisation of a worker",
        100 * one.utilisation(plan.of_worker),
        "%",
        f"{plan.of_worker:,.0f} orders/s each, of what full batches would do",
    )
    yield Line(
        "service",
        "orders in a batch",
        one.batch(plan.of_worker),
        "",
        f"what comes in the {1000 * one.round(plan.of_worker):.0f} ms of a round; "
        f"at most {one.most}",
    )
    seconds = parts.latency(plan.constants, plan.setup, plan.of_worker, plan.of_task)
    yield Line(
        "service",
        "usual latency, order → event",
        1000 * seconds,
        "ms",
        f"half a round of the worker ({1000 * one.wait(plan.of_worker):.0f} ms), its write, "
        f"half a round of Debezium ({1000 * publishing.wait(plan.of_task):.0f} ms), its work",
    )
    yield Line(
        "Kafka",
        "partitions of each topic",
        plan.partitions,
        "",
        "half as many again as workers: one more later would move keys; at least "
        f"{plan.setup.partitions}",
    )
    yield Line(
        "Connect",
        "databases with connectors of their own",
        plan.databases,
        "",
        f"a slot is read by one task, at most {publishing.capacity:,.0f} events/s; "
        f"{PLANNED:.0%} of it is planned",
    )
    yield Line(
        "Connect",
        "heap of a worker with all connectors",
        plan.heap,
        "MiB",
        f"half as much again as {CONNECTORS * plan.databases} queues of "
        f"{plan.setup.queue_events:,} events that wait for Kafka; not a matter of the load",
    )
    cores = plan.cores
    each = ", ".join(f"{part} {show_number(count)}" for part, count in cores.items())
    yield Line("all", "cores", sum(cores.values()), "", f"{each}; {PLANNED:.0%} busy")


def of_postgres(plan: Plan) -> Iterator[Line]:
    """Yield log and disk; of each database if there are several."""
    without = plan.demand.peak * plan.constants.log.order_bytes
    images = plan.log_rate - without
    yield Line(
        "Postgres",
        "write-ahead log a second",
        plan.log_rate,
        "B",
        f"{plan.constants.log.order_bytes:,.0f} B an order; full-page images of "
        f"{len(plan.constants.keys)} indexes with random keys are {images / plan.log_rate:.0%}",
    )
    yield Line(
        "Postgres",
        f"max_slot_wal_keep_size for {plan.demand.outage_hours:g} h",
        plan.outage_log,
        "B",
        f"the log of so long, and a quarter more{share(plan, plan.outage_log)}; "
        f"the {plan.setup.slot_wal_bytes / GIB:.0f} GiB of migrations/postgresql.conf last "
        f"{show_number(plan.minutes_of_slot)} minutes",
    )
    yield Line(
        "Postgres",
        "max_wal_size",
        plan.max_wal,
        "B",
        f"1.9 times the log of {CHECKPOINT_SECONDS // 60} minutes: checkpoints come by time"
        + share(plan, plan.max_wal),
    )
    of_day = plan.tables / plan.demand.days
    yield Line(
        "Postgres",
        f"tables after {plan.demand.days:g} days",
        plan.tables,
        "B",
        f"{parts.table_bytes(plan.constants):,.0f} B an order, a fifth more may be dead; "
        f"{show_bytes(of_day)} a day. Fulfillments stay for ever: see docs/sizing.md",
    )
    disk = plan.tables + plan.outage_log + plan.max_wal
    yield Line(
        "Postgres",
        "disk of the servers",
        disk,
        "B",
        f"tables, kept log and max_wal_size{share(plan, disk)}",
    )


def of_kafka(plan: Plan) -> Iterator[Line]:
    """Yield the disk of a broker."""
    of_order = plan.topics / plan.demand.kept
    yield Line(
        "Kafka",
        "disk of each broker",
        plan.topics,
        "B",
        f"{of_order:,.0f} B an order on {len(plan.constants.topics)} topics, an open segment "
        "in each partition included; with three copies each of three brokers has it all",
    )


def of_lake(plan: Plan) -> Iterator[Line]:
    """Yield files and bytes of the landed tables."""
    yield Line(
        "Delta",
        "landed rows",
        plan.landed_rows,
        "B",
        f"{plan.landed_rows / plan.demand.kept:,.0f} B an order in large files",
    )
    yield Line(
        "Delta",
        "files that a reader opens",
        plan.files_read,
        "",
        f"{LARGE_FILE / MIB:.0f} MiB each, and those of the hour since the last compaction",
    )
    yield Line(
        "Delta",
        "replaced files",
        plan.files_kept,
        "",
        f"an append every {plan.setup.land_seconds:g} s, kept for {plan.setup.keep_days:g} "
        f"days: {show_bytes(plan.bytes_kept)}",
    )
    yield Line(
        "Delta",
        "logs of the tables",
        plan.lake_logs,
        "B",
        f"every {COMMITS_OF_CHECKPOINT}th commit names all files of a week again, and stays "
        f"{LOG_DAYS} days: "
        "a longer LAND_TRIGGER_SECONDS has fewer of both",
    )
    disk = plan.landed_rows + plan.bytes_kept + plan.lake_logs
    yield Line("Delta", "disk of the lake", disk, "B", "rows, replaced files and logs")


def share(plan: Plan, total: float) -> str:
    """Return the share of each database, if there are several."""
    if plan.databases == 1:
        return ""
    return f"; {show_bytes(total / plan.databases)} in each of {plan.databases} databases"


def show(line: Line) -> str:
    """Return a number as people read it."""
    if line.unit == "B":
        return show_bytes(line.value)
    return f"{show_number(line.value)} {line.unit}".rstrip()


def show_number(value: float) -> str:
    """Return a number without digits that mean nothing."""
    is_whole = not value % 1
    return f"{value:,.0f}" if value >= 10 or is_whole else f"{value:.2g}"


def show_bytes(value: float) -> str:
    """Return bytes in the largest unit of which there is at least one."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if value < 1000:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:,.3g} PB" if value < 1000 else f"{value:,.0f} PB"


def table(plan: Plan) -> Iterator[str]:
    """Yield the plan for people."""
    demand = plan.demand
    yield (
        f"{show_number(demand.peak)} orders/s when it is busiest, "
        f"{show_number(demand.orders_per_second)} on average, kept for {demand.days:g} days"
    )
    for line in lines(plan):
        yield from in_columns(line)
    about = plan.constants.about
    yield f"constants of {about.date}: {about.machine}"


def in_columns(line: Line) -> Iterator[str]:
    """Yield a line of the table; a long reason goes on below itself."""
    head = f"{line.part:<9}{line.what:<41}{show(line):>10}  "
    for text in wrap(line.why, REASON_WIDTH):
        yield head + text
        head = " " * len(head)
