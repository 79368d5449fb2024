"""The commands that the lab adds to `pipeline`."""

# ruff: noqa: PLC0415 - each command imports what it needs: --help stays fast

import json
from pathlib import Path
from typing import Annotated

import typer

from ops.settings import Settings

Json = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]


def bench(
    only: Annotated[list[str] | None, typer.Option(help="An arm; again for another.")] = None,
    orders: Annotated[
        int, typer.Option(min=1, help="In each round; ten times as many for memory.")
    ] = 50_000,
    rounds: Annotated[int, typer.Option(min=1, help="Numbers are their medians.")] = 5,
    as_json: Json = False,
) -> None:
    """Measure chain, latency, memory, write, audit and cost on a stack of its own; goals stand beside the numbers."""
    from lab.bench.command import bench as measure
    from ops.progress import step

    found = measure(Settings(), step, only or [], orders, rounds)
    lines = found.pop("lines")
    print(json.dumps(found, indent=2) if as_json else "\n".join(lines))


def ladder(  # noqa: PLR0913, PLR0917 - one for each option
    orders: Annotated[
        int, typer.Option(min=1, help="In each cell; each fault strikes once for 500 of them.")
    ] = 1000,
    seed: Annotated[
        int, typer.Option(help="The same seed gives the same orders and the same strikes.")
    ] = 1,
    steps: Annotated[
        list[int] | None, typer.Option(help="A step, 0 to 5; again for another.")
    ] = None,
    faults: Annotated[list[str] | None, typer.Option(help="A fault; again for another.")] = None,
    output: Annotated[
        Path | None, typer.Option(help="Also write a Markdown page, HTML beside it.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Measure what each pattern buys: the same faults on every step; exit 1 if the last step loses or doubles."""
    from lab.ladder.command import is_clean
    from lab.ladder.command import ladder as measure
    from lab.ladder.page import lines
    from ops.progress import step

    found = measure(Settings(), step, steps or [], faults or [], orders, seed, output)
    print(json.dumps(found, indent=2) if as_json else "\n".join(lines(found)))
    raise typer.Exit(0 if is_clean(found) else 1)


def dedup_matrix(
    stores: Annotated[
        list[str] | None, typer.Option(help="A dedup store; again for another.")
    ] = None,
    anomalies: Annotated[
        list[str] | None, typer.Option(help="An anomaly; again for another.")
    ] = None,
    rounds: Annotated[
        int, typer.Option(min=0, help="Of the speed measurement; 0 leaves the costs out.")
    ] = 5,
    output: Annotated[
        Path | None, typer.Option(help="Also write a Markdown page, HTML beside it.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Run every anomaly on every dedup store; exit 1 if a store keeps or breaks another law than it says."""
    from lab.dedup_matrix.command import is_as_declared
    from lab.dedup_matrix.command import truth_table as measure
    from lab.dedup_matrix.page import lines
    from ops.progress import step

    found = measure(Settings(), step, stores or [], anomalies or [], rounds, output)
    print(json.dumps(found, indent=2) if as_json else "\n".join(lines(found)))
    raise typer.Exit(0 if is_as_declared(found) else 1)


def prove(  # noqa: PLR0913, PLR0917 - one for each option
    client: Annotated[str, typer.Argument(help="python, java or connect.")] = "python",
    paths: Annotated[
        list[Path] | None, typer.Argument(help="Files with the settings; ours if none.")
    ] = None,
    messages: Annotated[
        int,
        typer.Option(min=1, help="How many are sent; with --bootstrap: the newest of a partition."),
    ] = 20_000,
    lost_acks: Annotated[
        int, typer.Option(min=1, help="How many acknowledgements go missing.")
    ] = 200,
    bootstrap: Annotated[
        str, typer.Option(help="Your own cluster: look at the bytes of --topic; only reads.")
    ] = "",
    topic: Annotated[str, typer.Option(help="With --bootstrap: the topic.")] = "",
    as_json: Json = False,
) -> None:
    """Lose acknowledgements between a producer with your settings and a real broker, and count what is doubled."""
    from lab.prove.cluster import look
    from lab.prove.command import prove as lose_and_count

    if bootstrap or topic:
        raise typer.Exit(look(bootstrap, topic, messages, as_json=as_json))
    raise typer.Exit(lose_and_count(client, messages, lost_acks, paths or [], as_json=as_json))
