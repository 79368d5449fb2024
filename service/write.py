"""The transaction of a batch: write.sql with the dedup store's part and the rule's part in it."""

import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from psycopg.sql import Literal
from pydantic_core import to_json
from sqlalchemy import Connection, Engine, TextClause, text

from contract.events import ACCEPTED, EVENTS, Event
from contract.names import SUBSCRIBER
from contract.trace import Trace
from service.database import classify_errors
from service.dedup import Handled
from service.ids import derive, traceparent
from service.logs import exit_with_error
from service.record import DeadLetter, Item, Message, payload, read_trace
from service.rule import COLUMNS, facts

HERE = Path(__file__).parent
EVENT_TYPE = re.compile(r"[a-z]+(-[a-z]+)+")  # how a literal of the rule shows that it is one

# What is known of messages that are not fresh. The statement of write.sql cannot see what a worker
# that it waited for has committed; this one can. A store that keeps no row for each message still
# has the business's rows, and the outbox's, whose event id is derived. Where a message is known and
# the outbox has no row, the event was deleted after its audit, so there is nothing left to send.
FIND_KNOWN = """
    with delivered as materialized (
        select *
        from json_to_recordset(cast(:items as json)) as record (message_id text, event_id uuid)
    ),
    known as materialized (
        {known}
    )
    select
        delivered.message_id,
        encode(coalesce(known.value_sha256, tracking.value_sha256), 'hex') as value_sha256,
        outbox.event_type,
        tracking.audited_at is not null
            or tracking.audit_error is not null
            or outbox.event_id is null as audited
    from delivered
    left join known on known.message_id = delivered.message_id
    left join tracking
        on tracking.subscriber = :subscriber and tracking.message_id = delivered.message_id
    left join outbox on outbox.event_id = delivered.event_id
    where num_nonnulls(known.message_id, tracking.message_id, outbox.event_id) > 0
"""

# A deferred constraint would be checked at the commit only.
CHECK_AT_ONCE = text("set constraints all immediate")


def read_sql(file: Path) -> str:
    """Return the SQL of a file, without its comments."""
    code = []
    for line in file.read_text().splitlines():
        is_comment = line.lstrip().startswith("--")
        if not is_comment:
            code.append(line)
    return "\n".join(code).strip()


# What a rule without such rows knows.
NOTHING = "select null::text as message_id, null::bytea as value_sha256 where false"


class Rule(NamedTuple):
    """A business rule: service/rule.py with rule.sql and known.sql, or a test's own."""

    sql: str
    columns: str
    facts: Callable[[Message, str], dict[str, Any]]
    events: tuple[Event, ...]
    known: str = NOTHING  # SQL: of the messages in `delivered`, those that its rows know

    def outcomes(self) -> dict[str, str]:
        """Return the outcome of a message by the type of its deciding event."""
        return {event.event_type: event.outcome for event in self.events if event.outcome}

    def further_types(self) -> list[str]:
        """Return the types of the events that follow another."""
        return [event.event_type for event in self.events if event.follows]


RULE = Rule(read_sql(HERE / "rule.sql"), COLUMNS, facts, EVENTS, read_sql(HERE / "known.sql"))


def write(
    engine: Engine,
    subscriber: str,
    fresh: str,
    items: Sequence[Item],
    *,
    rule: Rule = RULE,
    **bound: Any,
) -> dict[str, Handled]:
    """Write what is fresh, and return what is now known of every message of the batch."""
    with classify_errors(), engine.connect() as connection:
        return write_on(connection, subscriber, fresh, items, rule=rule, **bound)


def try_out(
    engine: Engine,
    subscriber: str,
    fresh: str,
    items: Sequence[Item],
    *,
    rule: Rule = RULE,
    **bound: Any,
) -> dict[str, Handled]:
    """Do as write does and take it back: what would be refused at the commit is refused here."""
    in_transaction = engine.execution_options(isolation_level="READ COMMITTED")
    with classify_errors(), in_transaction.connect() as connection:
        connection.execute(CHECK_AT_ONCE)
        known = write_on(connection, subscriber, fresh, items, rule=rule, **bound)
        connection.rollback()
    return known


def write_on(
    connection: Connection,
    subscriber: str,
    fresh: str,
    items: Sequence[Item],
    *,
    rule: Rule,
    **bound: Any,
) -> dict[str, Handled]:
    """Execute the statement of the batch, and a second one if some of its messages are repeats."""
    messages = {item.message_id: item for item in items if isinstance(item, Message)}
    parameters = {"subscriber": subscriber, "items": rows(items, subscriber, rule), **bound}
    returned = connection.execute(statement(fresh, rule), parameters)
    event_types = {row.message_id: row.event_type for row in returned}
    repeats = [message_id for message_id, event_type in event_types.items() if event_type is None]
    known: dict[str, Handled] = {}
    if repeats:
        known = find_known(connection, subscriber, repeats, rule)
    outcomes = rule.outcomes()
    for message_id, message in messages.items():
        if message_id not in event_types:
            outcome = ACCEPTED
        elif event_types[message_id] is None:
            continue  # a repeat
        else:
            outcome = outcomes[event_types[message_id]]
        known[message_id] = Handled(message.value_sha256, outcome, audited=False, first=True)
    return known


def find_known(
    connection: Connection, subscriber: str, message_ids: Sequence[str], rule: Rule
) -> dict[str, Handled]:
    """Return what is known of messages that were handled before."""
    items = []
    for message_id in message_ids:
        event_id = derive_event_id(message_id, subscriber)
        items.append({"message_id": message_id, "event_id": event_id})
    parameters = {"subscriber": subscriber, "items": to_json(items).decode()}
    outcomes = rule.outcomes()
    known = {}
    for row in connection.execute(known_statement(rule), parameters):
        outcome = outcomes.get(row.event_type)
        known[row.message_id] = Handled(row.value_sha256, outcome, row.audited, first=False)
    return known


@cache
def known_statement(rule: Rule = RULE) -> TextClause:
    """Return how to find what is known of messages, with this rule's part in it."""
    return text(FIND_KNOWN.replace("{known}", rule.known))


@cache
def statement(fresh: str, rule: Rule = RULE) -> TextClause:
    """Return the write of a batch, with this store's and this rule's part in it."""
    check_event_types(rule)
    types = {outcome: event_type for event_type, outcome in rule.outcomes().items()}
    parts = {
        "{known}": rule.known,
        "{fresh}": fresh.strip(),
        "{rule}": rule.sql,
        "{columns}": rule.columns.strip(),
        "{events}": ", ".join(map(format_event, rule.events)),
        "{accepted}": Literal(types[ACCEPTED]).as_string(),
    }
    sql = read_sql(HERE / "write.sql")
    for placeholder, part in parts.items():
        sql = sql.replace(placeholder, part)
    return text(sql)


def format_event(event: Event) -> str:
    """Return an event as a row of SQL."""
    is_deciding = event.outcome is not None
    values = (event.event_type, event.aggregate_type, is_deciding)
    literals = [Literal(value).as_string() for value in values]
    return f"({', '.join(literals)})"


def check_event_types(rule: Rule) -> None:
    """End the process if the rule and the contract do not name the same events."""
    known = {event.event_type for event in rule.events}
    literals = set(re.findall(r"'([^']*)'", rule.sql))
    like_event_types = {literal for literal in literals if EVENT_TYPE.fullmatch(literal)}
    for event_type in sorted(like_event_types - known):
        exit_with_error(f"service/rule.sql: {event_type} is not in EVENTS of contract/events.py")
    for event_type in sorted(known - literals):
        exit_with_error(f"contract/events.py: service/rule.sql never decides on {event_type}")


def rows(items: Sequence[Item], subscriber: str = SUBSCRIBER, rule: Rule = RULE) -> str:
    """Return the batch as one JSON array: one parameter, however many rows."""
    further_types = rule.further_types()
    found = []
    for n, item in enumerate(items):
        if isinstance(item, DeadLetter):
            row = letter_row(item, subscriber)
        else:
            row = message_row(item, subscriber, further_types)
            row |= rule.facts(item, subscriber)
        row["n"] = n
        found.append(row)
    return to_json(found).decode()


def letter_row(letter: DeadLetter, subscriber: str) -> dict[str, Any]:
    """Return what is stored of a dead letter; its event id is derived from its place."""
    place = letter.record.place
    position = "{topic}/{partition}/{offset}".format_map(place)
    event_id = derive("dead-letter", position, subscriber)
    return {
        **place,
        "is_message": False,
        "event_id": event_id,
        "dead_letter": payload(letter, subscriber),
        **trace_columns(read_trace(letter.record), event_id),
    }


def message_row(message: Message, subscriber: str, further_types: list[str]) -> dict[str, Any]:
    """Return what is stored of a message, whatever the rule; its ids are derived from its own."""
    message_id = message.message_id
    event_id = derive_event_id(message_id, subscriber)
    row = {
        **message.record.place,
        "is_message": True,
        "message_id": message_id,
        "value_sha256": f"\\x{message.value_sha256}",
        "sequence": message.sequence,
        "event_id": event_id,
        **trace_columns(message.trace, event_id),
    }
    if further_types:
        row["further_ids"] = {
            event_type: derive(event_type, message_id, subscriber) for event_type in further_types
        }
    return row


def derive_event_id(message_id: str, subscriber: str) -> str:
    """Return the id of the event that decides on a message."""
    return derive("event", message_id, subscriber)


def trace_columns(trace: Trace | None, event_id: str) -> dict[str, str]:
    """Return in whose trace an event is; what few messages have is in few rows."""
    columns = {"traceparent": traceparent(trace, event_id)}
    if trace and trace.state:
        columns["tracestate"] = trace.state
    return columns
