"""`pipeline dead-letters replay` and `skip`: what is done about letters, each act a row.

A replay goes up a ladder of a few, then more: what was mended for one letter may not be mended for
all. It stops where a letter is dead again, and is begun anew with those that are left.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from psycopg.conninfo import make_conninfo

from contract.events import ACCEPTED, REJECTED
from contract.names import REPLAY_HEADER
from ops.letters.command import STATEMENTS, Filter
from ops.letters.original import ANSWER_SECONDS, Original, find_original
from ops.outbox import ROLE
from ops.produce import connect as connect_producer
from ops.progress import Note
from ops.settings import Env
from ops.stack.supervisor import StackError
from ops.topic import reader
from ops.trace.databases import CONNECT_SECONDS, Databases, Position, open_databases

LADDER = (1, 2, 5, 20, 100)
DEAD_AGAIN, GONE, WAITING, KNOWN = "dead again", "bytes are gone", "not handled yet", "known before"
FAILURES = (DEAD_AGAIN, WAITING)
HANDLED_SECONDS = 60.0  # the service handles a few records in less
FLUSH_SECONDS = 30
MOMENT = 0.2


class Act(NamedTuple):
    """Who does something, and why."""

    by: str
    why: str


class Outcome(NamedTuple):
    """What has become of a letter that was sent again."""

    position: Position
    state: str
    reason: str = ""


class Sent(NamedTuple):
    """A record on its way."""

    letter: Position
    act_id: int
    acted_at: datetime
    message_id: str
    place: Position | None  # None: not acknowledged


def choose(
    env: Env, wanted: Filter, positions: Sequence[str], *, again: bool = False
) -> list[Position]:
    """Return the open letters that are meant, the oldest first.

    Those that a replay has left are meant if they are named, or if `again` says so.
    """
    with open_databases(env) as databases:
        given = {
            "subscriber": databases.subscriber,
            "positions": list(positions) or None,
            "again": again,
            **wanted._asdict(),
        }
        rows = databases.service.execute(STATEMENTS["chosen"].encode(), given).fetchall()
    return [Position(row["topic"], row["partition"], row["offset"]) for row in rows]


def skip(env: Env, letters: Sequence[Position], act: Act) -> None:
    """Close letters as they are."""
    with connect(env) as session:
        for letter in letters:
            plan(session, env, letter, "skip", act)


def replay(
    env: Env, letters: Sequence[Position], act: Act, rate: float, note: Note
) -> list[Outcome]:
    """Send letters again, a few and then more; stop after a step in which one has failed."""
    outcomes: list[Outcome] = []
    producer = connect_producer(env["KAFKA_BOOTSTRAP_SERVERS"], env["INPUT_TOPIC"])
    with connect(env) as session, open_databases(env) as databases:
        for step in up_the_ladder(letters):
            found = replay_step(env, session, databases, producer, step, act, rate)
            outcomes += found
            note(f"{len(outcomes):,} of {len(letters):,}")
            if any(outcome.state in FAILURES for outcome in found):
                break
    return outcomes


def up_the_ladder(letters: Sequence[Position]) -> Iterator[Sequence[Position]]:
    """Yield a few letters, then more, then the rest."""
    begin = 0
    for count in LADDER:
        if begin < len(letters):
            yield letters[begin : begin + count]
        begin += count
    if begin < len(letters):
        yield letters[begin:]


def replay_step(  # noqa: PLR0913, PLR0917 - what a step works with
    env: Env,
    session: psycopg.Connection,
    databases: Databases,
    producer: Producer,
    letters: Sequence[Position],
    act: Act,
    rate: float,
) -> list[Outcome]:
    """Send these letters again, and return what has become of each."""
    outcomes = []
    waiting: list[tuple[Sent, list[Position]]] = []
    for letter in letters:
        original = find_original(env, letter)
        if original is None:
            outcomes.append(Outcome(letter, GONE))
            continue
        planned = plan(session, env, letter, "replay", act)
        sent = Sent(letter, planned[0], planned[1], original.message_id, None)
        waiting.append((sent, send(producer, env["INPUT_TOPIC"], letter, original)))
        producer.poll(1 / rate)
    if producer.flush(FLUSH_SECONDS):
        raise StackError("some records were not acknowledged: run it again, it goes on with them")
    records = []
    for sent, places in waiting:
        if places:
            records.append(sent._replace(place=places[0]))
            note_place(session, sent.act_id, places[0])
    handled = wait_until_handled(env, records)
    for sent in records:
        if sent.place in handled:
            outcomes.append(judge(databases, sent))
        else:
            outcomes.append(Outcome(sent.letter, WAITING))
    return outcomes


def plan(
    session: psycopg.Connection, env: Env, letter: Position, kind: str, act: Act
) -> tuple[int, datetime]:
    """Write down what will be done; return the number of the act, and its time."""
    given = {
        "subscriber": env["SUBSCRIBER"],
        "act": kind,
        "why": act.why,
        "by": act.by,
        **letter._asdict(),
    }
    [(act_id, acted_at)] = session.execute(STATEMENTS["plan"].encode(), given).fetchall()
    return act_id, acted_at


def note_place(session: psycopg.Connection, act_id: int, place: Position) -> None:
    """Write down where the record is that was sent."""
    given = {"id": act_id, "partition": place.partition, "offset": place.offset}
    session.execute(STATEMENTS["sent"].encode(), given)


def send(producer: Producer, topic: str, letter: Position, original: Original) -> list[Position]:
    """Send the bytes to the partition that they came from; the list will hold where they are."""
    places: list[Position] = []

    def on_delivery(error: KafkaError | None, message: Message) -> None:
        if error is None:
            place = Position(topic, message.partition() or 0, message.offset() or 0)
            places.append(place)

    producer.produce(
        topic,
        original.value,
        original.key,
        letter.partition,
        headers=[*original.headers, (REPLAY_HEADER, str(letter))],
        on_delivery=on_delivery,
    )
    return places


def wait_until_handled(env: Env, records: Sequence[Sent]) -> set[Position]:
    """Return the places that the service is past, once it is past all, or after a while."""
    deadline = time.monotonic() + HANDLED_SECONDS
    places = [sent.place for sent in records if sent.place]
    with reader(env["KAFKA_BOOTSTRAP_SERVERS"], env["GROUP_ID"]) as consumer:
        while True:
            handled = {place for place in places if is_committed(consumer, place)}
            if len(handled) == len(set(places)) or time.monotonic() > deadline:
                return handled
            time.sleep(MOMENT)


def is_committed(consumer: Consumer, place: Position) -> bool:
    """Return whether the service is past this place."""
    asked = TopicPartition(place.topic, place.partition)
    [committed] = consumer.committed([asked], timeout=ANSWER_SECONDS)
    return committed.offset > place.offset


def judge(databases: Databases, sent: Sent) -> Outcome:
    """Return what has become of one record."""
    assert sent.place is not None
    given: dict[str, Any] = {
        "subscriber": databases.subscriber,
        "message_id": sent.message_id,
        "acted_at": sent.acted_at,
        **sent.place._asdict(),
    }
    [row] = databases.service.execute(STATEMENTS["outcome"].encode(), given).fetchall()
    if row["dead_again"] is not None:
        return Outcome(sent.letter, DEAD_AGAIN, row["dead_again"])
    if row["is_accepted"]:
        return Outcome(sent.letter, ACCEPTED)
    if row["is_rejected"]:
        return Outcome(sent.letter, REJECTED)
    return Outcome(sent.letter, KNOWN)


@contextmanager
def connect(env: Env) -> Iterator[psycopg.Connection]:
    """Log in as the role that may send again what did not arrive."""
    file = Path(env["RESENDER_PASSWORD_FILE"])
    if not file.exists():
        raise StackError(f"RESENDER_PASSWORD_FILE: there is no {file}: start the stack first")
    password = file.read_text().strip()
    address = make_conninfo(env["DATABASE_URL"], user=ROLE, password=password)
    try:
        with psycopg.connect(address, autocommit=True, connect_timeout=CONNECT_SECONDS) as session:
            yield session
    except psycopg.OperationalError as failure:
        cause, *_ = str(failure).splitlines()
        raise StackError(f"Postgres does not answer: {cause} (is the stack up?)") from None
    except psycopg.errors.UndefinedTable as failure:
        raise StackError(f"{failure}: run python -m migrations upgrade") from None


def say(outcomes: Sequence[Outcome], chosen: int) -> Iterator[str]:
    """Yield how many letters there are of each outcome, and each that has failed."""
    counts: dict[str, int] = {}
    for outcome in outcomes:
        counts[outcome.state] = counts.get(outcome.state, 0) + 1
    for state, count in sorted(counts.items()):
        yield f"{count:>8,}  {state}"
    for outcome in outcomes:
        if outcome.state in (*FAILURES, GONE):
            yield ": ".join(filter(None, [str(outcome.position), outcome.state, outcome.reason]))
    left = chosen - len(outcomes)
    if left:
        yield f"{left:,} were not sent: mend the cause and run it again"


def is_good(outcomes: Sequence[Outcome], chosen: int) -> bool:
    """Return whether every letter was sent again, and none is dead."""
    failed = [one for one in outcomes if one.state in (*FAILURES, GONE)]
    return not failed and len(outcomes) == chosen
