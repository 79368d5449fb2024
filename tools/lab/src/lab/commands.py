"""The commands that the lab adds to `pipeline`."""

# ruff: noqa: PLC0415 - each command imports what it needs: --help stays fast

import json
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from lab.size.demand import ORDERS, OUTAGE, PEAK, RETENTION, Option, read_number
from ops.cli import to_seconds
from ops.settings import Settings

AsJson = Annotated[
    bool,
    typer.Option("--json", help="Print JSON for a program to read."),
]
Output = Annotated[
    Path | None,
    typer.Option(help="Also write a Markdown page, with HTML beside it."),
]


def bench(  # noqa: PLR0913, PLR0917 - one for each option
    only: Annotated[
        list[str] | None,
        typer.Option(help="One measurement, or one arm; repeat the option for more."),
    ] = None,
    peers: Annotated[
        bool,
        typer.Option("--peers", help="Measure this template beside other outboxes instead."),
    ] = False,
    orders: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="In each round: 50000, ten times as many for memory and reconcile, 5000 of peers.",
        ),
    ] = None,
    rounds: Annotated[
        int,
        typer.Option(min=1, help="Numbers are the medians of the rounds."),
    ] = 5,
    against: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="An earlier output of --json: compare the ratios."),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(help="With --peers: the same seed gives the same orders and kills."),
    ] = 1,
    output: Output = None,
    as_json: AsJson = False,
) -> None:
    """Measure speed, latency, memory and cost on a throwaway stack, beside what others do.

    With --peers: speed, latency by load, memory, log and disk, and what one kill of the relay
    leaves, of other outboxes too.

    Exit 0 if every must is kept and, with --against, no ratio has fallen by more than 15 %, with
    --peers if this template lost nothing; 1 if not, 2 if nothing could be measured. A goal that is
    missed is shown, and is no failure.
    """
    from lab.bench.command import bench as measure
    from lab.bench.command import is_good
    from ops.progress import step

    if peers:
        bench_peers(only or [], orders or 5_000, rounds, seed, output, as_json=as_json)
    if output:
        raise typer.BadParameter("only --peers writes pages: add it", param_hint="--output")
    found = measure(Settings(), step, only or [], orders or 50_000, rounds, against)
    table = found.pop("lines")
    show(found, table, as_json=as_json)
    raise typer.Exit(0 if is_good(found) else 1)


def bench_peers(  # noqa: PLR0913 - one for each option
    only: list[str],
    orders: int,
    rounds: int,
    seed: int,
    output: Path | None,
    *,
    as_json: bool,
) -> NoReturn:
    """Measure this template beside other outboxes, and exit."""
    from lab.peers.command import Plan, is_clean
    from lab.peers.command import peers as measure
    from lab.peers.page import lines
    from ops.progress import step

    found = measure(Settings(), step, only, Plan(orders, rounds, seed), output)
    show(found, lines(found), as_json=as_json)
    raise typer.Exit(0 if is_clean(found) else 1)


def ladder(  # noqa: PLR0913, PLR0917 - one for each option
    orders: Annotated[
        int,
        typer.Option(min=1, help="In each cell; each fault happens once in 500 of them."),
    ] = 1000,
    seed: Annotated[
        int,
        typer.Option(help="The same seed gives the same orders and the same faults."),
    ] = 1,
    steps: Annotated[
        list[int] | None,
        typer.Option(help="A step, 0 to 6; repeat the option for more."),
    ] = None,
    faults: Annotated[
        list[str] | None,
        typer.Option(help="A fault; repeat the option for more."),
    ] = None,
    output: Output = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on with a run of the same orders and seed that ended."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Measure what each pattern buys: the same faults on every step.

    Exit 0 if the last step loses and doubles nothing, 1 if it does, 2 if nothing could be measured.
    """
    from lab.ladder.command import is_clean
    from lab.ladder.command import ladder as measure
    from lab.ladder.page import lines
    from ops.progress import step

    found = measure(
        Settings(), step, steps or [], faults or [], orders, seed, output, resume=resume
    )
    show(found, lines(found), as_json=as_json)
    raise typer.Exit(0 if is_clean(found) else 1)


def dedup_matrix(
    stores: Annotated[
        list[str] | None,
        typer.Option(help="A dedup store; repeat the option for more."),
    ] = None,
    anomalies: Annotated[
        list[str] | None,
        typer.Option(help="An anomaly; repeat the option for more."),
    ] = None,
    rounds: Annotated[
        int,
        typer.Option(min=0, help="Of the speed measurement; 0 leaves the costs out."),
    ] = 5,
    output: Output = None,
    as_json: AsJson = False,
) -> None:
    """Run every anomaly on every dedup store, and measure what each store costs.

    Exit 0 if each store survives what it should, 1 if not, 2 if nothing could be tried.
    """
    from lab.dedup_matrix.command import dedup_matrix as measure
    from lab.dedup_matrix.command import is_as_declared
    from lab.dedup_matrix.page import lines
    from ops.progress import step

    found = measure(Settings(), step, stores or [], anomalies or [], rounds, output)
    show(found, lines(found), as_json=as_json)
    raise typer.Exit(0 if is_as_declared(found) else 1)


def prove(  # noqa: PLR0913, PLR0917 - one for each option
    client: Annotated[
        str,
        typer.Argument(help="python, java or connect."),
    ] = "python",
    paths: Annotated[
        list[Path] | None,
        typer.Argument(help="Files with the settings; this project's own if there are none."),
    ] = None,
    messages: Annotated[
        int,
        typer.Option(min=1, help="How many are sent; with --bootstrap: the newest of a partition."),
    ] = 20_000,
    lost_acks: Annotated[
        int,
        typer.Option(min=1, help="How many acknowledgements are lost."),
    ] = 200,
    bootstrap: Annotated[
        str,
        typer.Option(help="Your own cluster: look at the bytes of --topic; only reads."),
    ] = "",
    topic: Annotated[
        str,
        typer.Option(help="With --bootstrap: the topic."),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Lose acknowledgements between your producer settings and a real broker; count duplicates.

    Exit 0 if the settings are idempotent, 1 if they are not, 2 if nothing was proved.
    """
    from lab.prove.cluster import look
    from lab.prove.command import prove as lose_and_count

    if bootstrap or topic:
        code = look(bootstrap, topic, messages, as_json=as_json)
    else:
        code = lose_and_count(client, messages, lost_acks, paths or [], as_json=as_json)
    raise typer.Exit(code)


def faults(  # noqa: PLR0913, PLR0917 - one for each option
    only: Annotated[
        list[str] | None,
        typer.Option(help="A cell, a part of the path, or a pattern; repeat the option for more."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(help="This seed alone: the same faults at the same moments."),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(min=1, help="At most so many seeds of each cell; 20 or 2 otherwise."),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(min=0, help="Stop after so long; --resume goes on. 0: only write the page."),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on where an earlier slice has ended."),
    ] = False,
    soak: Annotated[
        float | None,
        typer.Option(
            parser=to_seconds,
            metavar="AGE",
            help="Mix cells for so long, such as 1h, and measure what the parts take.",
        ),
    ] = None,
    list_cells: Annotated[
        bool,
        typer.Option("--list", help="Only show the cells, and with how many seeds each is run."),
    ] = False,
    output: Output = None,
    as_json: AsJson = False,
) -> None:
    """Break every part at every point under load, and judge what is left by two checkers.

    Exit 0 if nothing was lost or doubled and each fault has struck, 1 if not, 2 if nothing was run.
    """
    from lab.faults.command import Choice, choose_cells, is_clean, list_lines, soak_for
    from lab.faults.command import faults as strike
    from lab.faults.page import lines, soak_lines
    from lab.faults.soak import is_flat
    from ops.progress import step

    if list_cells:
        cells = choose_cells(Settings(), only or [])
        listed = {"cells": [{"cell": cell.name, "seeds": cell.seeds} for cell in cells]}
        show(listed, list_lines(cells), as_json=as_json)
        raise typer.Exit(0)
    choice = Choice(only or [], seed, seeds, minutes, resume, output)
    if soak:
        found = soak_for(Settings(), step, choice, soak)
        show(found, soak_lines(found["soak"]), as_json=as_json)
        raise typer.Exit(0 if is_flat(found["soak"]) else 1)
    found = strike(Settings(), step, choice)
    show(found, lines(found), as_json=as_json)
    raise typer.Exit(0 if is_clean(found) else 1)


def year(  # noqa: PLR0913, PLR0917 - one for each option
    days: Annotated[
        int,
        typer.Option(min=1, help="How many days there are in all."),
    ] = 365,
    orders: Annotated[
        int,
        typer.Option(min=1, help="On each day."),
    ] = 10_000,
    seed: Annotated[
        int,
        typer.Option(help="The same seed gives the same orders."),
    ] = 1,
    minutes: Annotated[
        float,
        typer.Option(min=0, help="Stop after so long; --resume goes on."),
    ] = 1_000_000,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on where an earlier slice has ended."),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(help="Also write a Markdown page, with a picture beside it."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Live a year on a stack of its own: orders, reconciliation and retention each day.

    Once a week the lake is compacted.

    Exit 0 if every verdict was good and nothing has grown, 1 if not, 2 if no day could be lived.
    """
    from lab.year.command import Choice, is_flat
    from lab.year.command import year as live
    from lab.year.page import lines
    from ops.progress import step

    found = live(Settings(), step, Choice(days, orders, seed, minutes, resume, output))
    show(found, lines(found), as_json=as_json)
    raise typer.Exit(0 if is_flat(found) else 1)


def to_number(option: Option) -> Callable[[str], float]:
    """Return how to read an option's number; what is none gets one sentence."""
    return partial(read_number, option)


def size(  # noqa: PLR0913, PLR0917 - one for each option
    orders_per_second: Annotated[
        float | None,
        typer.Option(
            parser=to_number(ORDERS),
            metavar="N",
            help="How many orders come in a second, on average.",
        ),
    ] = None,
    retention: Annotated[
        float | None,
        typer.Option(
            parser=to_number(RETENTION),
            metavar="DAYS",
            help="How long everything is kept; run it again for what has another age.",
        ),
    ] = None,
    peak_factor: Annotated[
        float,
        typer.Option(
            parser=to_number(PEAK),
            metavar="P",
            help="How many times the average the busiest minutes are.",
        ),
    ] = 1,
    outage_hours: Annotated[
        float,
        typer.Option(
            parser=to_number(OUTAGE),
            metavar="H",
            help="How long Connect may be down without losing its slots.",
        ),
    ] = 24,
    constants: Annotated[
        Path | None,
        typer.Option(help="Measured constants, of your own machine; those of the lab otherwise."),
    ] = None,
    measure: Annotated[
        bool,
        typer.Option("--measure", help="Measure the constants on a throwaway stack; write them."),
    ] = False,
    check: Annotated[
        bool,
        typer.Option("--check", help="Run three loads on a throwaway stack beside the model."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Say what a load needs: workers, partitions, log, disks, heap and files, each with its reason.

    Exit 0 if it is said, 1 if --check finds the model wrong by a quarter, 2 if nothing can be said.
    """
    from lab.size import check as checking
    from lab.size import command
    from lab.size.constants import lines
    from lab.size.reasons import table
    from ops.progress import step

    if measure:
        found = command.measure_into(Settings(), step, constants)
        show(found.model_dump(), lines(found), as_json=as_json)
    elif check:
        checked = command.check_with(Settings(), step, constants)
        show(command.describe_check(checked), checking.lines(checked), as_json=as_json)
        raise typer.Exit(0 if checked.is_close else 1)
    else:
        plan = command.plan_for(orders_per_second, retention, peak_factor, outage_hours, constants)
        show(command.describe(plan), table(plan), as_json=as_json)


def show(document: dict[str, Any], table: Iterable[str], *, as_json: bool) -> None:
    """Print the result for a program or for people."""
    print(json.dumps(document, indent=2) if as_json else "\n".join(table))
