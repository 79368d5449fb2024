"""Counts of dead letters, and one of them with what is wrong in it."""

from base64 import b64decode
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from ops.letters.decoded import decode, visible
from ops.settings import Env
from ops.stack.supervisor import StackError
from ops.trace.databases import (
    Databases,
    Position,
    open_databases,
    parse_position,
    position_of,
)
from service.ids import derive
from spark.statements import read_statements

STATEMENTS = read_statements(Path(__file__).with_name("letters.sql"))
TIME = "%Y-%m-%d %H:%M:%S"
REASON_WIDTH = 64
HEADERS = "headers."
NOT_THERE = "(none)  ← here"

Row = dict[str, Any]


class Filter(NamedTuple):
    """Which letters are counted, or chosen."""

    kind: str = ""
    reason: str = ""
    since: datetime | None = None
    until: datetime | None = None
    topic: str = ""
    closed: bool = False  # counted: those too of which nothing is left to do
    exact: bool = False  # chosen: those with this reason, not those whose reason contains it


class Letter(NamedTuple):
    """A dead letter."""

    position: Position
    kind: str
    reason: str
    buried_at: datetime | None
    event: Row | None  # None: the outbox does not have it any more
    acts: Sequence[Row] = ()  # what was done about it
    waiting: int = 0  # records of its key that wait for that

    @property
    def field(self) -> str:
        """Return the name of what is wrong."""
        return self.reason.partition(":")[0]

    def bytes_of(self, name: str) -> bytes | None:
        """Return the key or the value, as much of it as was kept."""
        text = (self.event or {}).get(name)
        return None if text is None else b64decode(text)


def count_letters(env: Env, wanted: Filter) -> list[Row]:
    """Return how many letters there are of each reason."""
    with open_databases(env) as databases:
        given = {"subscriber": databases.subscriber, **wanted._asdict()}
        return databases.service.execute(STATEMENTS["counts"].encode(), given).fetchall()


def find_letter(env: Env, wanted: str) -> Letter | None:
    """Return the letter of the record at this position, if there is one."""
    position = read_position(wanted)
    with open_databases(env) as databases:
        return find_letters(databases, [position]).get(position)


def read_position(wanted: str) -> Position:
    """Return the position that was typed."""
    position = parse_position(wanted)
    if position is None:
        raise StackError(f"{wanted} is no position: give one such as order.events/0/57")
    return position


def say_there_is_none(env: Env, wanted: str) -> Iterator[str]:
    """Yield that it is no dead letter, or that it was one, and what was done about it."""
    position = read_position(wanted)
    with open_databases(env) as databases:
        given = {"subscriber": databases.subscriber, **position._asdict()}
        row = databases.service.execute(STATEMENTS["acts"].encode(), given).fetchone()
    if row is None:
        yield f"{wanted} is no dead letter"
        return
    yield f"{wanted} was a dead letter, and is closed; retention has deleted it"
    yield from act_lines(row["acts"])


def find_letters(databases: Databases, positions: Sequence[Position]) -> dict[Position, Letter]:
    """Return the letters of the records at these positions, those that there are."""
    given = {
        "subscriber": databases.subscriber,
        "topics": [one.topic for one in positions],
        "partitions": [one.partition for one in positions],
        "offsets": [one.offset for one in positions],
        "event_ids": [event_id_of(one, databases.subscriber) for one in positions],
    }
    letters = {}
    for row in databases.service.execute(STATEMENTS["letters"].encode(), given):
        position = position_of(row)
        letters[position] = Letter(
            position,
            row["kind"],
            row["reason"],
            row["buried_at"],
            row["payload"],
            row["acts"] or [],
            row["waiting"],
        )
    return letters


def event_id_of(position: Position, subscriber: str) -> str:
    """Return the id of the event that tells of a letter: it is derived from its position."""
    return derive("dead-letter", str(position), subscriber)


def count_lines(counts: Sequence[Row]) -> Iterator[str]:
    """Yield a line for each reason, and the sum first."""
    total = sum(row["letters"] for row in counts)
    if not total:
        yield "no dead letters"
        return
    yield f"{total:,} dead letters"
    on_their_way = sum(row["on_their_way"] for row in counts)
    if on_their_way:
        yield (
            f"{on_their_way:,} of them were sent again, and not followed to their end:"
            " run replay once more, it does that first"
        )
    columns = [
        f"{'letters':>8}",
        f"{'kind':<9}",
        f"{'reason':<{REASON_WIDTH}}",
        f"{'first':<19}",
        f"{'last':<19}",
        "the latest one",
    ]
    yield "  ".join(columns)
    for row in counts:
        reason = visible(row["reason"])
        if len(reason) > REASON_WIDTH:
            reason = f"{reason[: REASON_WIDTH - 1]}…"
        columns = [
            f"{row['letters']:>8,}",
            f"{row['kind']:<9}",
            f"{reason:<{REASON_WIDTH}}",
            f"{at(row['first_at']):<19}",
            f"{at(row['last_at']):<19}",
            row["latest"],
        ]
        yield "  ".join(columns)


def at(moment: datetime | None) -> str:
    """Return a moment as people read it; what was buried by version 0.1 has none."""
    return moment.astimezone(UTC).strftime(TIME) if moment else "not known"


def letter_lines(letter: Letter) -> Iterator[str]:
    """Yield one letter as lines: what is wrong, where it came from, and what is in it."""
    yield f"{letter.position}, buried {at(letter.buried_at)} UTC"
    yield f"{letter.kind}: {visible(letter.reason)}"
    yield from act_lines(letter.acts)
    if letter.waiting:
        yield f"{letter.waiting:,} records of its key wait until it is replayed or skipped"
    if letter.event is None:
        yield (
            "its bytes are not in the outbox any more: dead-letter.events has them for its"
            " retention, and the lake for RETENTION_LANDED_DAYS"
        )
        return
    key = letter.bytes_of("key")
    yield f"key      {'none' if key is None else visible_bytes(key)}"
    yield from header_lines(letter)
    yield from value_lines(letter)


def act_lines(acts: Sequence[Row]) -> Iterator[str]:
    """Yield a line for each thing that was done about a letter."""
    for act in acts:
        moment = at(datetime.fromisoformat(act["at"]))
        who = f"{moment} by {visible(act['by'])}"
        if act["sent"]:
            end = act["outcome"] or "not known yet"
            who = f"{who}, sent to partition/offset {act['sent']} ({end})"
        why = visible(act["why"])
        yield f"{act['act']:<8} {who}: {why}"


def header_lines(letter: Letter) -> Iterator[str]:
    """Yield a line for each header; the one that is wrong has a mark."""
    assert letter.event is not None
    named = letter.field.removeprefix(HEADERS) if letter.field.startswith(HEADERS) else ""
    headers = letter.event["headers"]
    for header in headers:
        value = header["value"]
        shown = "null" if value is None else visible_bytes(b64decode(value))
        mark = "  ← here" if header["name"] in (named, letter.field) else ""
        yield f"header   {visible(header['name'])} = {shown}{mark}"
    if named and named not in [header["name"] for header in headers]:
        yield f"header   {named} = {NOT_THERE}"


def value_lines(letter: Letter) -> Iterator[str]:
    """Yield the value, as far as it was kept and can be read."""
    assert letter.event is not None
    value = letter.bytes_of("value")
    if value is None:
        yield "value    null, a tombstone  ← here"
        return
    length = letter.event["value_length"]
    kept = "" if len(value) == length else f", of which {len(value):,} were kept"
    yield f"value    {length:,} bytes{kept}"
    for line in decode(value, letter.field, letter.reason):
        yield f"    {line}"


def visible_bytes(content: bytes) -> str:
    """Return bytes as text, with what is none by its number; at most a line of it."""
    text = visible(content.decode("utf-8", "backslashreplace"))
    return text if len(text) <= REASON_WIDTH else f"{text[:REASON_WIDTH]}…"


def counts_as_json(counts: Sequence[Row]) -> dict[str, Any]:
    """Return the counts for a program."""
    rows = [
        {**row, "first_at": iso(row["first_at"]), "last_at": iso(row["last_at"])} for row in counts
    ]
    return {"letters": sum(row["letters"] for row in counts), "reasons": rows}


def letter_as_json(letter: Letter) -> dict[str, Any]:
    """Return one letter for a program, with its bytes as the event has them."""
    return {
        "position": str(letter.position),
        "kind": letter.kind,
        "reason": letter.reason,
        "field": letter.field,
        "buried_at": iso(letter.buried_at),
        "event": letter.event,
        "acts": letter.acts,
        "waiting": letter.waiting,
    }


def iso(moment: datetime | None) -> str | None:
    """Return a moment as programs read it."""
    return moment.isoformat() if moment else None
