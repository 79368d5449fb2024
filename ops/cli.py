"""The `pipeline` command; exit codes: 0 fine, 1 found something, 2 could not look."""

# ruff: noqa: PLC0415 - each command imports what it needs: --help stays fast

import json
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ops.stack.stack import Stack

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="The outbox pipeline on this machine: start it, feed it, and see that nothing is lost or doubled.",
    epilog="Exit codes: 0 fine, 1 found something, 2 could not look. Settings: see .env.example.",
)
Json = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]
Orders = Annotated[int, typer.Option(min=1, help="How many good orders; others come on top.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same orders, ids apart.")]


def an_age(text: str) -> float:
    """So many seconds."""
    from ops.age import parse_age

    try:
        return parse_age(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


@app.command()
def up() -> None:
    """Start the embedded stack, or what is missing of it, and leave it running."""
    stack = make_stack()
    started = stack.up(stay=True)
    print(f"started {', '.join(started)}" if started else "the stack is already up")
    print(f"for psql and your own clients: source {stack.settings.run_dir / 'env'}")


@app.command()
def down(
    data: Annotated[bool, typer.Option(help="Also remove data, passwords, ledgers.")] = False,
) -> None:
    """Stop the embedded stack."""
    stack = make_stack()
    stack.down()
    if data:
        stack.remove_data()
    print("the stack is down" + (", its data is gone" if data else ""))


@app.command()
def status(as_json: Json = False) -> None:
    """Show each process, what lags behind, and how far the landing is; exit 1 if something is not well."""
    from ops.status import healthy, lines
    from ops.status import status as look

    found = look(make_stack())
    print(json.dumps(found, indent=2) if as_json else "\n".join(lines(found)))
    raise typer.Exit(0 if healthy(found) else 1)


@app.command()
def produce(
    orders: Orders = 1000,
    seed: Seed = 1,
    rate: Annotated[
        float, typer.Option(min=0, help="Records a second; 0 is as fast as it goes.")
    ] = 0,
    as_json: Json = False,
) -> None:
    """Send orders, among them redelivered and broken ones, and keep a ledger of what was acknowledged."""
    from ops.orders import count_kinds, make_records
    from ops.produce import new_run
    from ops.produce import produce as send
    from ops.progress import step

    run = new_run()
    records = make_records(seed, run, orders)
    with step(f"produce {len(records)} records"):
        ledger = send(make_stack().env(), run, records, rate)
    done = {"run": run, "records": count_kinds(records), "ledger": str(ledger)}
    print(json.dumps(done) if as_json else f"run {run}: {done['records']}\nledger: {ledger}")


@app.command()
def land(
    once: Annotated[bool, typer.Option(help="End when what is there now has landed.")] = True,
) -> None:
    """Land every topic in its Delta table."""
    raise typer.Exit(run_job("spark.land", *(["--once"] if once else [])))


@app.command()
def reconcile(
    land: Annotated[bool, typer.Option(help="Land first what is not landed yet.")] = False,
    ledger: Annotated[
        Path | None, typer.Option(help="Also look for every record of this ledger.")
    ] = None,
    deadline: Annotated[
        float | None, typer.Option(help="Seconds to wait until all is settled.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare every id at every hop, both ways; exit 1 if something is lost, doubled or different."""
    from ops.demo import need_tracking

    need_tracking(make_stack().settings)
    options = {"--ledger": ledger and ledger.resolve(), "--deadline": deadline}
    named = [
        text for name, value in options.items() if value is not None for text in (name, str(value))
    ]
    flags = [name for name, wanted in {"--land": land, "--json": as_json}.items() if wanted]
    raise typer.Exit(run_job("spark.reconcile", *flags, *named))


@app.command()
def demo(orders: Orders = 5000, seed: Seed = 1) -> None:
    """Everything once, from a stack that need not run yet to the verdict."""
    from ops.demo import demo as run

    raise typer.Exit(run(make_stack(), orders, seed))


@app.command()
def forget(
    older_than: Annotated[
        float, typer.Option(parser=an_age, metavar="AGE", help="Such as 14d or 36h.")
    ],
    store: Annotated[str | None, typer.Option(help="Instead of that of DEDUP_STORE.")] = None,
    batch: Annotated[int, typer.Option(min=1, help="Rows in each transaction.")] = 1000,
    risk_doubles: Annotated[
        bool, typer.Option("--risk-doubles", help="Also what may still come again.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Delete what the dedup store keeps of messages handled longer ago, in batches beside the running service."""
    from ops.forget import forget as delete
    from ops.forget import refuse_if_young
    from ops.progress import step

    env = make_stack().env()
    name = store or env.get("DEDUP_STORE", "tracking")
    if not risk_doubles:
        refuse_if_young(env, older_than)
    with step(f"forget what {name} keeps") as note:
        done = delete(env, name, older_than, batch, note)
    print(
        json.dumps(done)
        if as_json
        else "{store}: {forgotten} forgotten in {batches} batches".format_map(done)
    )


def add_tools() -> None:
    """Attach the commands of the distributions that are installed beside this one."""
    tools = {tool.name: tool for tool in entry_points(group="pipeline.commands")}
    for name, tool in tools.items():
        app.command(name)(tool.load())
    if "check" not in tools:
        app.command(
            "check", context_settings={"ignore_unknown_options": True, "allow_extra_args": True}
        )(no_check)


def no_check() -> None:
    """Say which producer is really idempotent: a tool of its own, not installed here."""
    print(
        "pipeline check is a tool of its own: install it with `pip install pipeline-check`",
        file=sys.stderr,
    )
    raise typer.Exit(2)


add_tools()


def run_job(module: str, *options: str) -> int:
    """One of the Spark jobs, its output passed through."""
    from ops.progress import step
    from ops.stack.supervisor import StackError

    stack = make_stack()
    if not stack.settings.attach and not stack.supervisor.alive("kafka"):
        raise StackError("the stack is not up: start it (pipeline up)")
    with step(module) as note:
        return stack.pass_through([module, *options], lambda line: print(line, flush=True), note)


def make_stack() -> "Stack":
    """The stack of the settings, telling what it does."""
    from ops.progress import step
    from ops.stack.stack import Stack

    return Stack(step=step)


def main() -> None:
    """Whatever stands in the way is said in a sentence, not in a traceback."""
    try:
        app()
    except Exception as failure:
        sentence = told(failure)
        if not sentence:
            raise
        print(f"pipeline: {sentence}", file=sys.stderr)
        sys.exit(2)


def told(failure: Exception) -> str:
    """The sentence for a failure that we know of; nothing for a defect of ours."""
    if isinstance(failure, ModuleNotFoundError):
        own = (failure.name or "").partition(".")[0] in {"ops", "service", "spark", "migrations"}
        all_parts = "pip install 'outbox-pipeline[service,spark,ops]'"
        return "" if own else f"this needs {failure.name}, which is not installed: {all_parts}"
    from pydantic import ValidationError

    from ops.produce import ProduceError
    from ops.stack.supervisor import StackError

    if isinstance(failure, ValidationError):
        wrong = failure.errors()[0]
        return f"{str(wrong['loc'][0]).upper()}={wrong['input']}: {wrong['msg']} (see .env.example)"
    return str(failure) if isinstance(failure, StackError | ProduceError) else ""
