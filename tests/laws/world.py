"""A world for one story: an empty database and an audit receiver, in which a rule is run.

What the story has left is compared as text, row by row: every table, every event, every request.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, redirect_stderr
from dataclasses import dataclass, field
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import psycopg
from pydantic_core import from_json, to_json
from sqlalchemy import Engine

from contract.names import SUBSCRIBER
from service.database import connect_to
from service.dedup import Handled
from service.dedup.tracking import FRESH
from service.handler import Steps, handle
from service.mark import Gate, Patience, mark
from service.outage import RefusedError
from service.post import Answers, Entry, make_item
from service.record import Item, Record
from service.write import Rule, try_out, write
from tests.builders import take_all
from tests.laws.server import Server

TIMEOUT_SECONDS = 30.0
LETTERS_SHOWN = 200  # of a row, or of a field
RECEIVER = "requests to the audit receiver"

Rows = Mapping[str, Counter[str]]  # of each table, as JSON

# Every column of every table, and whether the server itself fills it: by the clock or by a count.
COLUMNS = r"""
    select
        relname,
        attname,
        attidentity <> ''
            or coalesce(
                pg_get_expr(adbin, adrelid)
                    ~ '\m(now|clock_timestamp|nextval|pg_current_xact_id)\(|^CURRENT_',
                false
            )
    from pg_class
    join pg_attribute on attrelid = pg_class.oid
    left join pg_attrdef on adrelid = attrelid and adnum = attnum
    where relkind = 'r'
        and relnamespace = 'public'::regnamespace
        and relname <> 'alembic_version'
        and attnum > 0
        and not attisdropped
    order by relname, attnum
"""

ROWS = 'select row_to_json(chosen)::text from (select {columns} from "{table}") as chosen'

# When it was answered follows from the clock; whether it was does not.
ANSWERED = ("tracking", "audited_at")

EVENTS_OF = """
    select event_type, payload->>'reason'
    from outbox
    where payload->>'message_id' = %s and event_type <> 'record-dead-lettered'
    order by seq
"""
LETTER_AT = 'select reason from dead_letter where topic = %s and partition = %s and "offset" = %s'
FORGET = "delete from tracking; delete from outbox"


class LawBrokenError(AssertionError):
    """The rule does not obey; the text says what happened, to which message, and where to look."""


@dataclass
class World:
    """An empty database, an audit receiver that takes everything, and a rule."""

    server: Server
    database: str
    engine: Engine
    rule: Rule
    taken: dict[str, bytes] = field(default_factory=dict)  # by idempotency key
    said: StringIO = field(default_factory=StringIO)  # on standard error

    def steps(self) -> Steps:
        """Return the steps of the service, here."""
        return Steps(self.write, self.post, self.mark, lambda _: None)

    def write(self, items: Sequence[Item]) -> dict[str, Handled]:
        """Do what the service does."""
        return write(self.engine, SUBSCRIBER, FRESH, items, rule=self.rule)

    def write_and_roll_back(self, items: Sequence[Item]) -> None:
        """Do the same and take it back, as a server does whose client is gone."""
        try_out(self.engine, SUBSCRIBER, FRESH, items, rule=self.rule)

    def post(self, entries: Sequence[Entry]) -> Answers:
        """Take every entry; refuse another body under a key that is known."""
        for entry in entries:
            item = make_item(entry)
            body = to_json(item.body)
            first = self.taken.setdefault(item.idempotency_key, body)
            if body != first:
                raise LawBrokenError(
                    f"the audit receiver was sent two bodies about message {item.message_id}:"
                    f" {first.decode()} and then {body.decode()}. Does audit_body of"
                    " service/rule.py follow from the message and its outcome alone?"
                )
        return take_all(entries)

    def mark(self, answers: Answers) -> Answers:
        """Do what the service does."""
        nothing_fails = Gate(lambda _cause, _record: True, lambda _sentence: None)
        mark(self.engine, SUBSCRIBER, Patience(60, 60), nothing_fails, answers)
        return answers

    def handle(self, records: Sequence[Record], steps: Steps | None = None) -> None:
        """Take a batch through every step; what ends the service breaks a law."""
        try:
            handle(records, steps or self.steps())
        except SystemExit:
            sentence = self.said.getvalue().strip()
            raise LawBrokenError(f"the service ends with: {sentence}") from None
        except RefusedError as refusal:  # of a dead letter, for which no message is to blame
            raise LawBrokenError(
                f"what rule.sql writes is {refusal}, whatever comes. Does a migration make it, and"
                " grant it to `app`?"
            ) from None

    def everything(self) -> Rows:
        """Return all that is here."""
        return self.read(lambda _table, column, _is_filled: f'"{column}"')

    def result(self) -> Rows:
        """Return what another run must leave as well: not when, and not how many were before."""

        def choose(table: str, column: str, is_filled: bool) -> str | None:
            if (table, column) == ANSWERED:
                return f'"{column}" is not null as "{column}"'
            return None if is_filled else f'"{column}"'

        return self.read(choose)

    def read(self, choose: Callable[[str, str, bool], str | None]) -> Rows:
        """Return every table with the chosen columns, and what was sent to the receiver."""
        chosen: dict[str, list[str]] = defaultdict(list)
        with self.connect() as admin:
            for table, column, is_filled in admin.execute(COLUMNS).fetchall():
                expression = choose(table, column, is_filled)
                if expression:
                    chosen[table].append(expression)
            rows = {}
            for table, expressions in chosen.items():
                columns = ", ".join(expressions)
                query = ROWS.format(columns=columns, table=table)
                found = admin.execute(query.encode()).fetchall()
                rows[f"table {table}"] = Counter(row for (row,) in found)
        sent = [to_json({"key": key, **from_json(body)}) for key, body in self.taken.items()]
        return rows | {RECEIVER: Counter(request.decode() for request in sent)}

    def events_of(self, message_id: str | None) -> list[tuple[str, str | None]]:
        """Return type and reason of each event about a message."""
        with self.connect() as admin:
            return admin.execute(EVENTS_OF, [message_id]).fetchall()

    def letter_at(self, record: Record) -> str | None:
        """Return why a record is a dead letter, if it is one."""
        place = [record.topic, record.partition, record.offset]
        with self.connect() as admin:
            found = admin.execute(LETTER_AT, place).fetchone()
        return found[0] if found else None

    def forget(self) -> None:
        """Delete what is not kept for ever: tracking rows, events, and what the receiver knows."""
        self.execute(FORGET)
        self.taken.clear()

    def execute(self, statements: str) -> None:
        """Change the database as its administrator does."""
        with self.connect() as admin:
            admin.execute(statements.encode())

    def connect(self) -> psycopg.Connection:
        """Connect as the administrator."""
        return self.server.connect(self.database)


Begin = Callable[[], AbstractContextManager[World]]  # an empty world, with the rule in question


@contextmanager
def begin_world(server: Server, rule: Rule, changes: str = "") -> Iterator[World]:
    """Have an empty world for this rule, with changes to the tables that it needs."""
    password_file = Path(server.folder, "passwords", "app_password")
    with server.database() as database:
        engine = connect_to(server.url("app", database), password_file, TIMEOUT_SECONDS)
        world = World(server, database, engine, rule)
        if changes:
            world.execute(changes)
        try:
            with redirect_stderr(world.said):
                yield world
        finally:
            engine.dispose()


def differences(expected: Rows, found: Rows) -> str:
    """Say which rows are there and should not be, or the other way round; nothing if none."""
    sentences = []
    for table in sorted(expected.keys() | found.keys()):
        should_be = expected.get(table, Counter())
        are = found.get(table, Counter())
        sentence = tell(are - should_be, should_be - are)
        if sentence:
            sentences.append(f"{table}: {sentence}")
    return "; ".join(sentences)


def tell(too_many: Counter[str], missing: Counter[str]) -> str:
    """Say what is wrong with the rows of one table, with the first of them as an example."""
    if too_many and missing:
        row = min(too_many)
        instead_of = max(sorted(missing), key=partial(count_common, row))
        count = max(too_many.total(), missing.total())
        return f"{count} differ, such as {tell_fields(instead_of, row)}"
    if too_many:
        return f"{too_many.total()} too many, such as {cut(min(too_many))}"
    if missing:
        return f"{missing.total()} missing, such as {cut(min(missing))}"
    return ""


def tell_fields(instead_of: str, row: str) -> str:
    """Say in which fields two rows differ, and what else tells which rows they are."""
    before = flatten(json.loads(instead_of))
    after = flatten(json.loads(row))
    same = {name: value for name, value in after.items() if before.get(name) == value}
    changes = [
        f"{name} is {cut(after.get(name))} and not {cut(before.get(name))}"
        for name in before | after
        if name not in same
    ]
    return f"{', '.join(changes)} in {cut(same)}"


def count_common(row: str, other: str) -> int:
    """Return how many fields two rows have in common."""
    fields = flatten(json.loads(row)).items()
    others = flatten(json.loads(other)).items()
    return sum(field in list(others) for field in fields)


def flatten(row: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the fields of a row, those of a body in it among them."""
    found: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, dict):
            found |= flatten(value, f"{prefix}{name}.")
        else:
            found[f"{prefix}{name}"] = value
    return found


def cut(value: object) -> str:
    """Return a value as text that one can read."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LETTERS_SHOWN else f"{text[:LETTERS_SHOWN]}…"
