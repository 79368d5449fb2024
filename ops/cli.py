"""The `pipeline` command; exit codes: 0 fine, 1 found something, 2 could not look."""

# ruff: noqa: PLC0415 - each command imports what it needs: --help stays fast

import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from ops.tools import PipelineGroup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import ValidationError

    from ops.stack.stack import Stack
    from ops.trace.databases import Position

app = typer.Typer(
    cls=PipelineGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="The outbox pipeline on this machine: start it, feed it, see that nothing is lost.",
    epilog="Exit codes: 0 fine, 1 found something, 2 could not look. Settings: see .env.example.",
)
dead_letters = typer.Typer(no_args_is_help=True, help="What was refused, and what people allow.")
app.add_typer(dead_letters, name="dead-letters")
audit = typer.Typer(no_args_is_help=True, help="What the audit receiver has refused.")
app.add_typer(audit, name="audit")
WELL = "connectors, slots, publications and refusals: all is well (pipeline status has the rest)"
LETTER_KINDS = ("invalid", "conflict", "too_large")
Json = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]
Orders = Annotated[int, typer.Option(min=1, help="How many good orders; others come on top.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same orders, apart from ids.")]


def to_seconds(text: str) -> float:
    """Return an age as seconds."""
    from contract.age import parse_age

    try:
        return parse_age(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


Age = Annotated[
    float,
    typer.Option(
        parser=to_seconds,
        metavar="AGE",
        help="Such as 14d or 36h.",
    ),
]


@app.command()
def up() -> None:
    """Start the embedded stack, or what is missing of it, and leave it running."""
    stack = make_stack()
    started = stack.up(stay=True)
    names = ", ".join(started)
    print(f"started {names}" if started else "the stack is already up")
    env_file = stack.settings.run_dir / "env"
    print(f"for psql and your own clients: source {env_file}")


@app.command()
def down(
    data: Annotated[bool, typer.Option(help="Also remove data, passwords, ledgers.")] = False,
) -> None:
    """Stop the embedded stack."""
    stack = make_stack()
    stack.down()
    if data:
        stack.remove_data()
        print("the stack is down, its data is gone")
    else:
        print("the stack is down")


@app.command()
def status(
    serve: Annotated[
        bool, typer.Option("--serve", help="Show it as a page on PAGE_PORT, until it is stopped.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show each process, what lags, was refused, has landed; exit 1 if something is not well."""
    from ops.status import healthy, lines
    from ops.status import status as look

    if serve:
        from ops.page.command import serve as serve_page

        serve_page(make_checked_stack())
        return
    found = look(make_stack())
    if as_json:
        print(json.dumps(found, indent=2))
    else:
        print("\n".join(lines(found)))
    raise typer.Exit(0 if healthy(found) else 1)


@app.command()
def produce(
    orders: Orders = 1000,
    seed: Seed = 1,
    rate: Annotated[float, typer.Option(min=0, help="Records a second; 0: no limit.")] = 0,
    as_json: Json = False,
) -> None:
    """Send orders, some of them redelivered or broken; keep a ledger of what was acknowledged."""
    from ops.orders import count_kinds, make_records
    from ops.produce import new_run
    from ops.produce import produce as send
    from ops.progress import step

    stack = make_checked_stack()
    run = new_run()
    records = make_records(seed, run, orders)
    with step(f"produce {len(records)} records"):
        ledger = send(stack.env(), run, records, rate)
    kinds = count_kinds(records)
    if as_json:
        done = {
            "run": run,
            "records": kinds,
            "ledger": str(ledger),
        }
        print(json.dumps(done))
    else:
        print(f"run {run}: {kinds}")
        print(f"ledger: {ledger}")


@app.command()
def land(
    once: Annotated[bool, typer.Option(help="End when what is there now has landed.")] = True,
    accept_loss: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TOPIC/PARTITION:FROM-TO",
            help="Go on without these records, which Kafka deleted before they landed; or TOPIC@ID:"
            " go on with a topic that was created again.",
        ),
    ] = None,
) -> None:
    """Land every topic in its Delta table."""
    stack = make_checked_stack()
    options = ["--once"] if once else []
    for loss in accept_loss or []:
        options += ["--accept-loss", loss]
    code = run_job(stack, "spark.land", options)
    raise typer.Exit(code)


@app.command()
def tables(
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Make them again, of everything that has landed.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Bring the event tables up to what has landed: one row for each event, typed columns."""
    options = ["--rebuild"] if rebuild else []
    if as_json:
        options += ["--json"]
    code = run_job(make_checked_stack(), "spark.tables", options)
    raise typer.Exit(code)


@app.command()
def compact(as_json: Json = False) -> None:
    """Make few large files of the lake's many small ones, and delete what no reader needs."""
    options = ["--json"] if as_json else []
    code = run_job(make_checked_stack(), "spark.compact", options)
    raise typer.Exit(code)


@app.command()
def reconcile(
    land: Annotated[bool, typer.Option(help="Land first what has not landed yet.")] = False,
    ledger: Annotated[
        Path | None, typer.Option(help="Also look for every record of this ledger.")
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Judge everything, not only what came since.")
    ] = False,
    deadline: Annotated[
        float | None, typer.Option(help="Seconds to wait until all is settled.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare every id at every hop, both ways; exit 1 if something is lost, doubled, different."""
    stack = make_whole_stack()
    options = []
    if land:
        options += ["--land"]
    if full:
        options += ["--full"]
    if as_json:
        options += ["--json"]
    if ledger:
        options += ["--ledger", str(ledger.resolve())]
    if deadline is not None:
        options += ["--deadline", str(deadline)]
    code = run_job(stack, "spark.reconcile", options)
    raise typer.Exit(code)


@app.command()
def repair(
    apply: Annotated[bool, typer.Option("--apply", help="Do it; otherwise only say it.")] = False,
    run: Annotated[
        str | None, typer.Option(metavar="ID", help="Of a reconciliation, instead of the latest.")
    ] = None,
    by: Annotated[
        str | None, typer.Option(help="Who takes the responsibility, if not the user who types.")
    ] = None,
    deadline: Annotated[
        float | None, typer.Option(help="Seconds in which the service must handle a record.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Repair what the latest reconciliation has found; exit 1 if something is left to do."""
    options = ["--apply"] if apply else []
    if as_json:
        options += ["--json"]
    for name, value in (("--run", run), ("--by", by), ("--deadline", deadline)):
        if value is not None:
            options += [name, str(value)]
    code = run_job(make_checked_stack(), "spark.repair", options)
    raise typer.Exit(code)


@app.command()
def retention(
    apply: Annotated[bool, typer.Option("--apply", help="Do it; otherwise only say it.")] = False,
    deadline: Annotated[
        float | None, typer.Option(help="Seconds to wait until all is settled.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Delete old events from the outboxes, if all is well; exit 1 if something is wrong."""
    stack = make_whole_stack()
    options = ["--apply"] if apply else []
    if as_json:
        options += ["--json"]
    if deadline is not None:
        options += ["--deadline", str(deadline)]
    code = run_job(stack, "spark.retention", options)
    raise typer.Exit(code)


@app.command()
def trace(
    wanted: Annotated[
        str,
        typer.Argument(
            metavar="ID",
            help="Of an order or a message; or a position, such as order.events/0/57.",
        ),
    ],
    as_json: Json = False,
) -> None:
    """Show where an order is, hop by hop, and where to look for what is not there.

    Exit 1 if something waits, is missing or wrong, or if nothing is known of it.
    """
    from ops.trace.command import as_json as to_json
    from ops.trace.command import is_fine, lines
    from ops.trace.command import trace as look

    traces = look(make_checked_stack().env(), wanted)
    if as_json:
        print(json.dumps(to_json(wanted, traces)))
    else:
        print("\n".join(lines(wanted, traces)))
    raise typer.Exit(0 if is_fine(traces) else 1)


@app.command()
def guard(
    once: Annotated[
        bool, typer.Option("--once", help="Watch for ten seconds, mend nothing, and say it.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Watch over connectors and slots: restart what has failed, and say what only you can mend.

    Of several, one acts, and the others watch. It never makes a slot, and deletes no offsets: that
    would lose events. With --once, exit 1 if something is not well.
    """
    from ops.guard.command import keep_guard, look_for_a_while

    stack = make_checked_stack()
    env = stack.env()
    if not once:
        settings = stack.settings
        pulse_seconds = settings.guard_pulse_seconds
        keep_guard(env, settings.guard_host, settings.guard_port, tell, pulse_seconds)
    findings = look_for_a_while(env)
    if as_json:
        print(json.dumps([finding._asdict() for finding in findings]))
    else:
        lines = [f"{finding.sentence}: {finding.way_out}" for finding in findings]
        print("\n".join(lines or [WELL]))
    raise typer.Exit(1 if findings else 0)


@app.command()
def conform(  # noqa: PLR0913, PLR0917 - one for each option
    url: Annotated[str, typer.Argument(help="Where one entry is posted.")],
    body: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            help="What to post: JSON with {id} for ids. Else our entry.",
        ),
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(help="Such as 'Authorization: Bearer ...'; as often as needed."),
    ] = None,
    ca: Annotated[
        Path | None,
        typer.Option(exists=True, help="The CA that is trusted, instead of the machine's."),
    ] = None,
    bare: Annotated[
        bool, typer.Option("--bare", help="Send keys without quotes, as many receivers want them.")
    ] = False,
    batch: Annotated[
        str | None,
        typer.Option(help="Where several entries are posted at once, in the form of docs/wire.md."),
    ] = None,
    expires_after: Annotated[
        float | None,
        typer.Option(min=0.1, help="Seconds for which the receiver keeps a key: waits twice that."),
    ] = None,
    expired: Annotated[
        str | None,
        typer.Option(help="A key that the receiver has kept once, and keeps no longer."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Ask a receiver of idempotent POSTs what it makes of repeated, changed and lost requests.

    It sends a few dozen requests with fresh ids: try it where they do no harm. Exit 1 if the
    receiver does not do what it must. What was not checked says so.
    """
    from ops.conform.command import as_json as to_json
    from ops.conform.command import conform as ask
    from ops.conform.command import lines, read_body, read_headers
    from ops.conform.exchange import Receiver

    headers = read_headers(header or [])
    receiver = Receiver(
        url,
        read_body(body),
        headers,
        str(ca) if ca else None,
        quoted=not bare,
        batch_url=batch,
        expires_after=expires_after,
        expired_key=expired,
    )
    results = list(ask(receiver))
    print(json.dumps(to_json(results)) if as_json else "\n".join(lines(results)))
    raise typer.Exit(0 if all(result.ok for result in results) else 1)


def tell(line: str) -> None:
    """Write a line with the time; a log has it at once."""
    print(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} {line}", flush=True)


@app.command()
def offsets(
    accept_loss: Annotated[
        bool, typer.Option("--accept-loss", help="Go on at the first record that is there.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show where the service stands in the input topic; exit 1 if it cannot go on by itself."""
    options = ["--accept-loss"] if accept_loss else []
    if as_json:
        options += ["--json"]
    code = run_job(make_checked_stack(), "service.offsets", options)
    raise typer.Exit(code)


@app.command()
def demo(orders: Orders = 5000, seed: Seed = 1) -> None:
    """Do everything once, from a stack that need not run yet to the verdict."""
    from ops.demo import demo as run

    stack = make_stack()
    code = run(stack, orders, seed)
    raise typer.Exit(code)


@app.command()
def forget(
    older_than: Age,
    store: Annotated[str | None, typer.Option(help="Instead of that of DEDUP_STORE.")] = None,
    batch: Annotated[int, typer.Option(min=1, help="Rows in each transaction.")] = 1000,
    risk_doubles: Annotated[
        bool, typer.Option("--risk-doubles", help="Also what may still come again.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Delete what the dedup store keeps of messages handled longer ago; the service may run on."""
    from ops.forget import forget as delete
    from ops.forget import refuse_if_young, refuse_tracking
    from ops.progress import step

    stack = make_checked_stack()
    env = stack.env()
    name = store or env.get("DEDUP_STORE", "tracking")
    if not risk_doubles:
        refuse_if_young(env, older_than)
        refuse_tracking(name)
    with step(f"forget what {name} keeps") as note:
        done = delete(env, name, older_than, batch, note)
    if as_json:
        print(json.dumps(done))
    else:
        forgotten = done["forgotten"]
        batches = done["batches"]
        print(f"{name}: {forgotten} forgotten in {batches} batches")


outbox = typer.Typer(no_args_is_help=True, help="Look after the events of the outboxes.")
app.add_typer(outbox, name="outbox")


def to_moment(text: str) -> datetime:
    """Return a time, however it was typed."""
    from contract.age import parse_moment

    try:
        return parse_moment(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def to_numbers(text: str) -> range:
    """Return the numbers of a range such as 17-42, to which both ends belong."""
    ends = [int(end) for end in text.split("-") if end.isdecimal()]
    if len(ends) != 2 or ends[0] > ends[1]:
        raise typer.BadParameter(f"{text!r} is no range: give two numbers, as in 17-42")
    first, last = ends
    return range(first, last + 1)


def to_outbox(text: str) -> str:
    """Return the name of an outbox that there is."""
    from ops.settings import OUTBOXES

    if text not in OUTBOXES:
        names = " and ".join(OUTBOXES)
        raise typer.BadParameter(f"there is no outbox {text!r}, only {names}")
    return text


def to_id(text: str) -> UUID:
    """Return the id of an event."""
    try:
        return UUID(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no event id, which is a UUID") from None


Moment = Annotated[
    datetime | None,
    typer.Option(
        parser=to_moment,
        metavar="TIME",
        help="Of occurred_at: such as 2026-11-22T10:00:00Z, or 2h for two hours ago.",
    ),
]


@outbox.command("resend")
def outbox_resend(  # noqa: PLR0913, PLR0917 - one for each option
    event_id: Annotated[
        list[UUID] | None, typer.Option(parser=to_id, metavar="ID", help="Once for each event.")
    ] = None,
    since: Moment = None,
    until: Moment = None,
    seq: Annotated[
        range | None,
        typer.Option(parser=to_numbers, metavar="FROM-TO", help="Needs --outbox."),
    ] = None,
    missing: Annotated[
        bool, typer.Option("--missing", help="Of these, only what is not on its topic.")
    ] = False,
    only: Annotated[
        str | None,
        typer.Option("--outbox", parser=to_outbox, metavar="NAME", help="One of the outboxes."),
    ] = None,
    batch: Annotated[int, typer.Option(min=1, max=10_000, help="Rows in each transaction.")] = 500,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say it, and send nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Send events again that a slot has skipped, with the same ids and bytes.

    Among what is sent again the sequence of each key is kept, but it comes after newer events of
    its key. Exit code 1: an event id is in no outbox.
    """
    from ops.outbox import Choice, resend
    from ops.settings import OUTBOXES

    if seq and not only:
        raise typer.BadParameter("each outbox has a seq of its own: name one with --outbox")
    if not (event_id or since or until or seq):
        raise typer.BadParameter("say which: --event-id, --since, --until or --seq")
    env = make_checked_stack().env()
    names = [only] if only else list(OUTBOXES)
    chosen = Choice(event_id, since, until, seq, missing)
    batch_or_none = None if dry_run else batch
    code = resend(env, names, chosen, batch_or_none, as_json=as_json)
    raise typer.Exit(code)


def to_kind(text: str) -> str:
    """Return a kind of dead letter."""
    if text and text not in LETTER_KINDS:
        raise typer.BadParameter(f"{text!r} is none of {', '.join(LETTER_KINDS)}")
    return text


LetterKind = Annotated[
    str,
    typer.Option(parser=to_kind, metavar="|".join(LETTER_KINDS), help="Only of this kind."),
]
LetterReason = Annotated[str, typer.Option(help="Only reasons that contain this text.")]
LetterSince = Annotated[
    datetime | None,
    typer.Option(parser=to_moment, metavar="TIME", help="Buried since then, as in 2h."),
]
LetterUntil = Annotated[
    datetime | None,
    typer.Option(parser=to_moment, metavar="TIME", help="Buried before then, as in 14d."),
]
LetterTopic = Annotated[str, typer.Option(help="Only records of this topic.")]
LetterBy = Annotated[
    str | None, typer.Option(help="Who takes the responsibility, if not the user who types.")
]
Letters = Annotated[
    list[str] | None,
    typer.Argument(metavar="[POSITION]...", help="Such as order.events/0/57; none means all."),
]


@dead_letters.command("list")
def list_letters(  # noqa: PLR0913, PLR0917 - one for each option
    kind: LetterKind = "",
    reason: LetterReason = "",
    since: LetterSince = None,
    until: LetterUntil = None,
    topic: LetterTopic = "",
    closed: Annotated[
        bool, typer.Option("--closed", help="Those too of which nothing is left to do.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Count the open dead letters of each reason, the most first."""
    from ops.letters.command import Filter, count_letters, count_lines, counts_as_json

    wanted = Filter(kind, reason, since, until, topic, closed)
    counts = count_letters(make_checked_stack().env(), wanted)
    print(json.dumps(counts_as_json(counts)) if as_json else "\n".join(count_lines(counts)))


@dead_letters.command()
def show(
    position: Annotated[
        str, typer.Argument(metavar="POSITION", help="Of the record, such as order.events/0/57.")
    ],
    as_json: Json = False,
) -> None:
    """Show a dead letter: what was wrong, its key and headers, and its value as far as it is text.

    Exit 1 if the record at this position is no dead letter.
    """
    from ops.letters.command import find_letter, letter_as_json, letter_lines, say_there_is_none

    env = make_checked_stack().env()
    letter = find_letter(env, position)
    if letter is None:
        print(json.dumps(None) if as_json else "\n".join(say_there_is_none(env, position)))
        raise typer.Exit(1)
    print(json.dumps(letter_as_json(letter)) if as_json else "\n".join(letter_lines(letter)))


@dead_letters.command()
def replay(  # noqa: PLR0913, PLR0917 - one for each option
    why: Annotated[str, typer.Option(help="What was mended: each act is written down with it.")],
    positions: Letters = None,
    kind: LetterKind = "",
    reason: LetterReason = "",
    since: LetterSince = None,
    until: LetterUntil = None,
    topic: LetterTopic = "",
    again: Annotated[
        bool, typer.Option("--again", help="Those too that an earlier replay has left.")
    ] = False,
    rate: Annotated[float, typer.Option(min=0.1, help="Records a second.")] = 100,
    by: LetterBy = None,
    yes: Annotated[bool, typer.Option("--yes", help="Send them; otherwise only count.")] = False,
    as_json: Json = False,
) -> None:
    """Send dead letters again with the same bytes: 1, then 2, 5, 20, 100, then the rest.

    It stops where one is dead again; run anew, it goes on with those that are left. What one has
    sent that was killed is followed to its end first. Exit 1 if one has failed or was not sent.
    """
    from ops.dead_letters import user
    from ops.letters.acts import Act, choose, follow_earlier, has_failed, is_good, say
    from ops.letters.acts import replay as send_again
    from ops.letters.command import Filter
    from ops.progress import step

    env = make_checked_stack().env()
    earlier = follow_earlier(env) if yes else []
    chosen = choose(env, Filter(kind, reason, since, until, topic), positions or [], again=again)
    if not yes:
        show_chosen(chosen, "sent again", as_json=as_json)
        return
    outcomes = earlier
    if not has_failed(earlier):
        with step(f"replay {len(chosen):,} dead letters") as note:
            outcomes = earlier + send_again(env, chosen, Act(by or user(), why), rate, note)
    meant = len(earlier) + len(chosen)
    if as_json:
        rows = [{**one._asdict(), "position": str(one.position)} for one in outcomes]
        print(json.dumps({"chosen": meant, "outcomes": rows}))
    else:
        print("\n".join(say(outcomes, meant)) or "no open dead letter is meant")
    raise typer.Exit(0 if is_good(outcomes, meant) else 1)


@dead_letters.command()
def skip(  # noqa: PLR0913, PLR0917 - one for each option
    why: Annotated[str, typer.Option(help="Why they stay as they are.")],
    positions: Letters = None,
    kind: LetterKind = "",
    reason: LetterReason = "",
    since: LetterSince = None,
    until: LetterUntil = None,
    topic: LetterTopic = "",
    by: LetterBy = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do it; otherwise only count.")] = False,
    as_json: Json = False,
) -> None:
    """Close dead letters that nobody will send again: they are not counted as open any more."""
    from ops.dead_letters import user
    from ops.letters.acts import Act, choose
    from ops.letters.acts import skip as close
    from ops.letters.command import Filter

    env = make_checked_stack().env()
    chosen = choose(env, Filter(kind, reason, since, until, topic), positions or [], again=True)
    if yes:
        close(env, chosen, Act(by or user(), why))
    show_chosen(chosen, "skipped", as_json=as_json, done=yes)


def show_chosen(
    chosen: "Sequence[Position]", what: str, *, as_json: bool, done: bool = False
) -> None:
    """Say how many letters are meant, and which come first."""
    if as_json:
        print(json.dumps({"chosen": [str(one) for one in chosen], "done": done}))
        return
    first = ", ".join(str(one) for one in chosen[:3])
    more = ", …" if len(chosen) > 3 else ""
    named = f": {first}{more}" if chosen else ""
    verb = "were" if done else "would be"
    print(f"{len(chosen):,} dead letters {verb} {what}{named}")
    if chosen and not done:
        print("nothing is done: say --yes")


@dead_letters.command()
def allow(
    cause: Annotated[
        str, typer.Argument(metavar="CODE[:NAME]", help="As /readyz says it, such as 23514:no_13.")
    ],
    duration: Annotated[
        str, typer.Option("--for", metavar="AGE", help="Such as 30m or 4h.")
    ] = "1h",
    by: Annotated[
        str | None, typer.Option(help="Who takes the responsibility, if not the user who types.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Let the service bury what one cause refuses; exit 1 if it has refused nothing.

    CODE is a SQLSTATE or a status of the audit receiver, NAME the constraint, column or function.
    Nothing is buried as long as good messages are refused too.
    """
    from ops.dead_letters import allow as give_allowance
    from ops.dead_letters import say

    seconds = to_seconds(duration)
    stack = make_checked_stack()
    done = give_allowance(stack.env(), cause, seconds, by)
    print(json.dumps(done) if as_json else say(done))
    raise typer.Exit(0 if done["allowed_until"] else 1)


@audit.command()
def retry(
    reason: Annotated[str, typer.Option(help="Only reasons that contain this text.")] = "",
    older_than: Annotated[
        float | None,
        typer.Option(parser=to_seconds, metavar="AGE", help="Only what failed before, as in 2h."),
    ] = None,
    newer_than: Annotated[
        float | None,
        typer.Option(parser=to_seconds, metavar="AGE", help="Only what failed since, as in 7d."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Send them; otherwise only count.")] = False,
    as_json: Json = False,
) -> None:
    """Send again what the audit receiver has refused, with the same keys and bytes.

    Without --yes, say how many entries that would be. Exit 1 if entries are left refused.
    """
    from ops.audit import FOR_EVER, Choice, count_refused, describe
    from ops.audit import retry as send_again
    from ops.progress import step

    env = make_checked_stack().env()
    choice = Choice(reason, older_than or 0, FOR_EVER if newer_than is None else newer_than)
    if not yes:
        reasons = count_refused(env, choice)
        if as_json:
            print(json.dumps(reasons))
        else:
            print("\n".join(describe(reasons)) or "no entry is refused")
        raise typer.Exit(1 if reasons else 0)
    with step("send refused entries again") as note:
        done = send_again(env, choice, note)
    if as_json:
        print(json.dumps(done._asdict()))
    else:
        print(f"{done.taken:,} taken, {done.refused:,} refused again")
    raise typer.Exit(1 if done.refused else 0)


def run_job(stack: "Stack", module: str, options: list[str]) -> int:
    """Run one of the project's own jobs, print what it prints, and return its exit code."""
    from ops.progress import step
    from ops.stack.supervisor import StackError

    def on_line(line: str) -> None:
        print(line, flush=True)

    runs_elsewhere = stack.settings.attach
    if not runs_elsewhere and not stack.supervisor.alive("kafka"):
        raise StackError("the stack is not up: start it (pipeline up)")
    with step(module) as note:
        return stack.pass_through([module, *options], on_line, note)


def make_stack() -> "Stack":
    """Return the stack of the settings; it shows each step that it takes."""
    from ops.progress import step
    from ops.stack.stack import Stack

    stack = Stack(step=step)
    if stack.settings.security:
        # The clients of this process read them where every other part does.
        os.environ.update(stack.settings.environment())
    return stack


def make_whole_stack() -> "Stack":
    """Return the same, if it has the whole path."""
    from ops.stack.checks import refuse_part_of_the_path

    stack = make_checked_stack()
    refuse_part_of_the_path(stack.settings)
    return stack


def make_checked_stack() -> "Stack":
    """Return the same, if its settings can work at all."""
    from ops.stack.checks import check_settings

    stack = make_stack()
    check_settings(stack.settings)
    return stack


def main() -> None:
    """Run the command; print what stops it as a sentence, not as a traceback."""
    try:
        app()
    except Exception as failure:
        sentence = explain(failure)
        if not sentence:
            raise
        print(f"pipeline: {sentence}", file=sys.stderr)
        sys.exit(2)


def explain(failure: Exception) -> str:
    """Return the sentence for a failure that we know of; nothing for a defect of ours."""
    if isinstance(failure, ModuleNotFoundError):
        return explain_missing(failure.name or "")
    from pydantic import ValidationError

    from ops.stack.supervisor import StackError

    if isinstance(failure, ValidationError):
        sentence = explain_setting(failure)
        return f"{sentence} (see .env.example)"
    if isinstance(failure, StackError):
        return str(failure)
    return ""


def explain_setting(failure: "ValidationError") -> str:
    """Return the first setting that is wrong, and what is wrong with it."""
    first, *_ = failure.errors()
    reason = first["msg"]
    is_own_sentence = first["type"] == "value_error"
    if is_own_sentence:  # it names its setting itself
        return reason.removeprefix("Value error, ")
    field, *_ = first["loc"]
    name = str(field).upper()
    given = first["input"]
    return f"{name}={given}: {reason}"


def explain_missing(module: str) -> str:
    """Return how to install what a module belongs to; nothing for a module of ours."""
    own = {
        "access",
        "contract",
        "ops",
        "service",
        "spark",
        "migrations",
        "connect",
        "extras",
    }
    package, *_ = module.split(".")
    if package in own:
        return ""
    return (
        f"this needs {module}, which is not installed: "
        "pip install 'outbox-pipeline[service,spark,ops]'"
    )
