"""`pipeline trace`: every message of an order, hop by hop, and what waits before the service."""

from collections.abc import Iterator, Sequence
from datetime import UTC
from typing import Any

from confluent_kafka import KafkaException

from ops.settings import Env
from ops.stack.supervisor import StackError
from ops.trace.databases import find_letters, find_message_ids, find_parked, open_databases
from ops.trace.hops import (
    NOT_FINE,
    SERVICE_LOG,
    WAITING,
    Hop,
    Sources,
    Trace,
    trace_letter,
    trace_message,
    trace_parked,
)
from ops.trace.lake import read_last_run
from ops.trace.topics import look_for_waiting

TIME = "%Y-%m-%d %H:%M:%S"
INDENT = 44  # of what is said of a hop


def trace(env: Env, wanted: str) -> list[Trace]:
    """Return the path of each message and dead letter of an order, a message or a position."""
    try:
        with open_databases(env) as databases:
            sources = Sources(env, databases, read_last_run(env["DELTA_ROOT"]))
            message_ids = find_message_ids(databases, wanted)
            letters = find_letters(databases, wanted)
            traces = [trace_message(sources, message_id) for message_id in message_ids]
            traces += [trace_letter(sources, letter) for letter in letters]
            traces += [trace_parked(sources, row) for row in find_parked(databases, wanted)]
        return traces or trace_waiting(env, wanted)
    except KafkaException as failure:
        raise StackError(f"the broker does not answer: {failure} (is the stack up?)") from None


def trace_waiting(env: Env, wanted: str) -> list[Trace]:
    """Return where it waits before the service, if it does."""
    look = look_for_waiting(env, wanted)
    if look.record is None:
        return []
    what = f"{look.record.position}, not handled yet"
    hop = Hop("record", WAITING, what, look.record.at, SERVICE_LOG)
    return [Trace(f"record of {wanted}", [hop])]


def is_fine(traces: Sequence[Trace]) -> bool:
    """Return whether it is known, and all that should be there is."""
    return bool(traces) and all(one.is_fine() for one in traces)


def as_json(wanted: str, traces: Sequence[Trace]) -> dict[str, Any]:
    """Return what was found for a program."""
    return {
        "id": wanted,
        "fine": is_fine(traces),
        "traces": [one.as_json() for one in traces],
    }


def lines(wanted: str, traces: Sequence[Trace]) -> Iterator[str]:
    """Yield what was found as lines for people."""
    if not traces:
        yield f"nothing is known of {wanted}: no row, no dead letter, and no record that waits;"
        yield "give the id of an order or a message, or a position such as order.events/0/57"
    for one in traces:
        yield one.title
        for hop in one.hops:
            yield from hop_lines(hop)


def hop_lines(hop: Hop) -> Iterator[str]:
    """Yield a line for a hop, and one for where to look."""
    at = hop.at.astimezone(UTC).strftime(TIME) if hop.at else ""
    columns = [f"  {at:<19}", f" {hop.name:<12}", f"{hop.state:<8}", hop.what]
    yield " ".join(columns)
    if hop.next and hop.state in NOT_FINE:
        margin = " " * INDENT
        yield f"{margin}→ {hop.next}"
