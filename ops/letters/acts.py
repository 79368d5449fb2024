"""`pipeline dead-letters replay` and `skip`: what is done about letters, each act a row.

A replay goes up a ladder of a few, then more: what was mended for one letter may not be mended for
all. It stops where a letter is dead again, and is begun anew with those that are left. Each record
is followed to its end, which its act then says; what a replay has left that was killed, the next
one follows first.
"""

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import psycopg
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from psycopg.conninfo import make_conninfo

from contract.events import ACCEPTED, REJECTED
from contract.names import REPLAY_HEADER
from ops.letters.command import STATEMENTS, Filter, Row, event_id_of
from ops.letters.original import ANSWER_SECONDS, Original, find_originals
from ops.outbox import ROLE
from ops.produce import connect as connect_producer
from ops.progress import Note
from ops.settings import Env
from ops.stack.supervisor import StackError
from ops.topic import reader
from ops.trace.databases import (
    CONNECT_SECONDS,
    Databases,
    Position,
    open_databases,
    position_of,
)

LADDER = (1, 2, 5, 20, 100)
DEAD_AGAIN, GONE, WAITING, KNOWN = "dead again", "bytes are gone", "not handled yet", "known before"
UNSENT = "not acknowledged"
FAILURES = (DEAD_AGAIN, WAITING, UNSENT)
STANDSTILL_SECONDS = 60.0  # the service handles a few records in less
FLUSH_SECONDS = 30
MOMENT = 0.2
AT_ONCE = 100  # letters whose bytes are held: up to a megabyte each


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
    """A letter that was sent again, and the number of the act that says so."""

    letter: Position
    act_id: int
    place: Position | None  # None: not acknowledged


class Work(NamedTuple):
    """What a replay works with."""

    env: Env
    session: psycopg.Connection  # writes acts
    databases: Databases
    producer: Producer
    pace: "Pace"


class Pace:
    """The times at which records are sent, so many a second."""

    def __init__(self, rate: float) -> None:
        self.distance = 1 / rate
        self.due = time.monotonic()

    def wait(self, producer: Producer) -> None:
        """Wait until the next record is due, and meanwhile take what the broker answers."""
        producer.poll(0)
        while (early_by := self.due - time.monotonic()) > 0:
            producer.poll(early_by)
        self.due = max(self.due, time.monotonic() - self.distance) + self.distance


def choose(
    env: Env, wanted: Filter, positions: Sequence[str], *, again: bool = False
) -> list[Position]:
    """Return the open letters that are meant, the oldest first.

    Those that a replay has left are meant if they are named, or if `again` says so.
    """
    are_copies_meant = again or bool(positions)
    with open_databases(env) as databases:
        given = {
            "subscriber": databases.subscriber,
            "positions": list(positions) or None,
            "again": are_copies_meant,
            **wanted._asdict(),
        }
        rows = databases.service.execute(STATEMENTS["chosen"].encode(), given).fetchall()
        chosen = [position_of(row) for row in rows]
        return chosen if are_copies_meant else list(without_copies(databases, chosen))


def without_copies(databases: Databases, letters: Sequence[Position]) -> Iterator[Position]:
    """Yield the letters but those of records that a replay has sent."""
    events = {event_id_of(one, databases.subscriber): one for one in letters}
    given = {"event_ids": list(events), "header": REPLAY_HEADER}
    rows = databases.service.execute(STATEMENTS["copies"].encode(), given)
    copies = {row["event_id"] for row in rows}
    for event_id, letter in events.items():
        if event_id not in copies:
            yield letter


def skip(env: Env, letters: Sequence[Position], act: Act) -> None:
    """Close letters as they are."""
    with connect(env) as session:
        for letter in letters:
            plan(session, env, letter, "skip", act)


def follow_earlier(env: Env) -> list[Outcome]:
    """Return what has become of records that a replay had sent when it was killed."""
    with connect(env) as session, open_databases(env) as databases:
        return list(follow(env, session, databases).values())


def replay(
    env: Env, letters: Sequence[Position], act: Act, rate: float, note: Note
) -> list[Outcome]:
    """Send letters again, a few and then more; stop after a step in which one has failed."""
    outcomes: list[Outcome] = []
    producer = connect_producer(env["KAFKA_BOOTSTRAP_SERVERS"], env["INPUT_TOPIC"])
    with connect(env) as session, open_databases(env) as databases:
        work = Work(env, session, databases, producer, Pace(rate))
        for step in up_the_ladder(letters):
            found = replay_step(work, step, act)
            outcomes += found
            note(f"{len(outcomes):,} of {len(letters):,}")
            if has_failed(found):
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


def replay_step(work: Work, letters: Sequence[Position], act: Act) -> list[Outcome]:
    """Send these letters again, and return what has become of each."""
    outcomes = []
    records = []
    for begin in range(0, len(letters), AT_ONCE):
        some = letters[begin : begin + AT_ONCE]
        sent = send_some(work, some, act)
        records += sent
        missing = set(some) - {record.letter for record in sent}
        outcomes += [Outcome(letter, GONE) for letter in sorted(missing)]
    wait_until_handled(work.env, [record.place for record in records if record.place])
    ended = follow(work.env, work.session, work.databases)
    for record in records:
        unknown = Outcome(record.letter, WAITING if record.place else UNSENT)
        outcomes.append(ended.get(record.act_id, unknown))
    return outcomes


def send_some(work: Work, letters: Sequence[Position], act: Act) -> list[Sent]:
    """Send the letters whose bytes are there, and write down where each went when it is there."""
    originals = find_originals(work.env, work.databases, letters)
    records: dict[int, Sent] = {}
    delivered: list[Sent] = []
    for letter in letters:
        original = originals.get(letter)
        if original is None:
            continue
        work.pace.wait(work.producer)
        note_places(work.session, delivered, records)
        act_id = plan(work.session, work.env, letter, "replay", act, original.message_id)
        records[act_id] = Sent(letter, act_id, None)
        send(work.producer, work.env["INPUT_TOPIC"], records[act_id], original, delivered)
    unknown = work.producer.flush(FLUSH_SECONDS)
    note_places(work.session, delivered, records)
    if unknown:
        raise StackError("some records were not acknowledged: run it again, it goes on with them")
    return list(records.values())


def note_places(
    session: psycopg.Connection, delivered: list[Sent], records: dict[int, Sent]
) -> None:
    """Write down where records are that have arrived since the last look."""
    while delivered:
        record = delivered.pop()
        note_place(session, record)
        records[record.act_id] = record


def plan(  # noqa: PLR0913, PLR0917 - one for each column
    session: psycopg.Connection,
    env: Env,
    letter: Position,
    kind: str,
    act: Act,
    message_id: str | None = None,
) -> int:
    """Write down what will be done; return the number of the act."""
    given = {
        "subscriber": env["SUBSCRIBER"],
        "act": kind,
        "why": act.why,
        "by": act.by,
        "message_id": message_id,
        **letter._asdict(),
    }
    [(act_id,)] = session.execute(STATEMENTS["plan"].encode(), given).fetchall()
    return int(act_id)


def note_place(session: psycopg.Connection, record: Sent) -> None:
    """Write down where the record is that was sent."""
    assert record.place is not None
    given = {"id": record.act_id, **record.place._asdict()}
    session.execute(STATEMENTS["sent"].encode(), given)


def send(
    producer: Producer, topic: str, record: Sent, original: Original, delivered: list[Sent]
) -> None:
    """Send the bytes to the partition that they came from; once they are there, it is delivered."""

    def on_delivery(error: KafkaError | None, message: Message) -> None:
        if error is None:
            place = Position(topic, message.partition() or 0, message.offset() or 0)
            delivered.append(record._replace(place=place))

    producer.produce(
        topic,
        original.value,
        original.key,
        record.letter.partition,
        headers=[*original.headers, (REPLAY_HEADER, str(record.letter))],
        on_delivery=on_delivery,
    )


def wait_until_handled(env: Env, places: Sequence[Position]) -> None:
    """Wait until the service is past these places, as long as it advances."""
    ends: dict[int, int] = {}
    for place in places:
        ends[place.partition] = max(place.offset + 1, ends.get(place.partition, 0))
    seen: dict[int, int] = {}
    deadline = time.monotonic() + STANDSTILL_SECONDS
    with reader(env["KAFKA_BOOTSTRAP_SERVERS"], env["GROUP_ID"]) as consumer:
        while time.monotonic() < deadline:
            committed = committed_offsets(consumer, env["INPUT_TOPIC"], ends)
            if all(committed[number] >= end for number, end in ends.items()):
                return
            if committed != seen:
                seen = committed
                deadline = time.monotonic() + STANDSTILL_SECONDS
            time.sleep(MOMENT)


def committed_offsets(consumer: Consumer, topic: str, partitions: Iterable[int]) -> dict[int, int]:
    """Return up to where the service has handled these partitions."""
    asked = [TopicPartition(topic, number) for number in partitions]
    found = consumer.committed(asked, timeout=ANSWER_SECONDS) if asked else []
    return {one.partition: max(0, one.offset) for one in found}


def follow(env: Env, session: psycopg.Connection, databases: Databases) -> dict[int, Outcome]:
    """Write down what has become of each record that was sent and is handled; return it, by act."""
    of_subscriber = {"subscriber": databases.subscriber}
    rows = databases.service.execute(STATEMENTS["sent_partitions"].encode(), of_subscriber)
    partitions = [row["partition"] for row in rows]
    topic = env["INPUT_TOPIC"]
    with reader(env["KAFKA_BOOTSTRAP_SERVERS"], env["GROUP_ID"]) as consumer:
        committed = committed_offsets(consumer, topic, partitions)
    given = {**of_subscriber, "topic": topic, "committed": json.dumps(committed)}
    ended = {}
    for row in databases.service.execute(STATEMENTS["ended"].encode(), given):
        outcome = judge(row)
        noted = {"id": row["id"], "outcome": outcome.state}
        session.execute(STATEMENTS["outcome"].encode(), noted)
        ended[row["id"]] = outcome
    return ended


def judge(row: Row) -> Outcome:
    """Return what has become of one record."""
    letter = position_of(row)
    if row["dead_again"] is not None:
        return Outcome(letter, DEAD_AGAIN, row["dead_again"])
    if row["is_accepted"]:
        return Outcome(letter, ACCEPTED)
    if row["is_rejected"]:
        return Outcome(letter, REJECTED)
    return Outcome(letter, KNOWN)


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
    except (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn) as failure:
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


def has_failed(outcomes: Iterable[Outcome]) -> bool:
    """Return whether a replay stops here."""
    return any(outcome.state in FAILURES for outcome in outcomes)


def is_good(outcomes: Sequence[Outcome], chosen: int) -> bool:
    """Return whether every letter was sent again, and none is dead."""
    failed = [one for one in outcomes if one.state in (*FAILURES, GONE)]
    return not failed and len(outcomes) == chosen
