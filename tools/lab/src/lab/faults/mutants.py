"""Defects that are planted where all was right: whoever judges must find each of them.

Each mutant is done to an order of its own on the running stack: to tables, to a topic, to the
group's offsets or to the lake. The seed chooses where.
"""

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psycopg
from confluent_kafka import Consumer, Producer, TopicPartition
from deltalake import DeltaTable, QueryBuilder, write_deltalake

from contract.samples import second
from lab.environment import connect_as_admin
from lab.faults.expect import derive
from lab.faults.facts import Sent
from lab.faults.load import Load
from lab.faults.site import WORKERS, Site

EVENTS = "fulfillment.events"
Spoil = Callable[[Site, Sequence[Sent], random.Random], list[Sent]]  # returns what else was sent
Where = dict[str, Callable[[Site, Sequence[str]], None]]


def in_database(setting: str, sql: str) -> Callable[[Site, Sequence[str]], None]:
    """Return a defect that is a statement with the message ids of its victims."""

    def spoil(site: Site, ids: Sequence[str]) -> None:
        needed = list(ids)[: sql.count("%s")]
        with connect_as_admin(site.stack.env(), setting) as admin:
            done: psycopg.Cursor[Any] = admin.execute(sql.encode(), needed)
            assert done.rowcount, f"nothing was spoiled: {sql}"

    return spoil


def landed_rows(site: Site, message_id: str) -> tuple[DeltaTable, Any, str]:
    """Return the table of events, the landed rows of a message's event, and how to find them."""
    table = DeltaTable(str(Path(site.stack.env()["DELTA_ROOT"], "landed", EVENTS)))
    event_id = derive("event", message_id)
    query = 'select partition, "offset", headers from landed'
    found = QueryBuilder().register("landed", table).execute(query).read_all()
    columns = [found.column(name).to_pylist() for name in ("partition", "offset", "headers")]
    [place] = [
        f'partition = {partition} and "offset" = {offset}'
        for partition, offset, headers in zip(*columns, strict=True)
        if {"key": "id", "value": event_id.encode()} in headers
    ]
    rows = QueryBuilder().register("landed", table).execute(f"select * from landed where {place}")  # noqa: S608
    return table, rows.read_all(), place


def take_from_lake(site: Site, ids: Sequence[str]) -> None:
    """Delete a landed event."""
    table, _, place = landed_rows(site, ids[0])
    table.delete(place)


def land_again(site: Site, ids: Sequence[str]) -> None:
    """Land an event twice."""
    table, rows, _ = landed_rows(site, ids[0])
    write_deltalake(table, rows, mode="append")


def change_in_lake(site: Site, ids: Sequence[str]) -> None:
    """Change a byte of a landed event: its body ends with a quote and a brace."""
    table, _, place = landed_rows(site, ids[0])
    digits = "encode(value, 'hex')"
    changed = f"decode(concat(left({digits}, length({digits}) - 4), '307d'), 'hex')"
    table.update(updates={"value": changed}, predicate=place)


def publish_changed(site: Site, ids: Sequence[str]) -> None:
    """Put an event on its topic once more, with another byte."""
    event_id = derive("event", ids[0])
    records = [one for one in site.observer.records if one.header("id") == event_id]
    [record] = [one for one in records if one.place.topic == EVENTS]
    value = bytearray(record.value or b"")
    value[-3] ^= 1
    producer = Producer({"bootstrap.servers": site.stack.env()["KAFKA_BOOTSTRAP_SERVERS"]})
    producer.produce(
        EVENTS, bytes(value), record.key, record.place.partition, headers=list(record.headers)
    )
    assert producer.flush(10) == 0


DROP: Where = {
    "fulfillment": in_database("DATABASE_URL", "delete from fulfillment where message_id = %s"),
    "outbox": in_database("DATABASE_URL", "delete from outbox where payload->>'message_id' = %s"),
    "audit entry": in_database(
        "AUDIT_DATABASE_URL", "delete from audit_entry where message_id = %s"
    ),
    "lake": take_from_lake,
}
DOUBLE: Where = {
    "audit entry": in_database(
        "AUDIT_DATABASE_URL",
        """
        insert into audit_entry
        select
            idempotency_key || '-again', gen_random_uuid(), message_id, order_id, outcome,
            fulfillment_id, total, body_sha256, answer
        from audit_entry
        where message_id = %s
        """,
    ),
    "outbox": in_database(
        "DATABASE_URL",
        """
        insert into outbox (
            event_id, aggregate_type, aggregate_id, event_type, traceparent, payload
        )
        select
            gen_random_uuid(), aggregate_type, aggregate_id, event_type, traceparent, payload
        from outbox
        where payload->>'message_id' = %s
        """,
    ),
    "lake": land_again,
}
SWAP: Where = {
    "fulfillment": in_database(
        "DATABASE_URL",
        """
        with pair as (
            select message_id, customer_id, total, lines
            from fulfillment
            where message_id in (%s, %s)
        )
        update fulfillment
        set customer_id = pair.customer_id, total = pair.total, lines = pair.lines
        from pair
        where fulfillment.message_id in (select message_id from pair)
            and fulfillment.message_id <> pair.message_id
        """,
    ),
    "audit entry": in_database(
        "AUDIT_DATABASE_URL",
        """
        with pair as (
            select message_id, total, fulfillment_id
            from audit_entry
            where message_id in (%s, %s)
        )
        update audit_entry
        set total = pair.total, fulfillment_id = pair.fulfillment_id
        from pair
        where audit_entry.message_id in (select message_id from pair)
            and audit_entry.message_id <> pair.message_id
        """,
    ),
}
CHANGE: Where = {
    "fulfillment": in_database(
        "DATABASE_URL",
        "update fulfillment set customer_id = customer_id || 'x' where message_id = %s",
    ),
    "tracking": in_database(
        "DATABASE_URL",
        """
        update tracking
        set value_sha256 = set_byte(value_sha256, 0, 255 - get_byte(value_sha256, 0))
        where message_id = %s
        """,
    ),
    "topic": publish_changed,
    "lake": change_in_lake,
}
SWALLOW = """
    with lost as (
        select payload->>'message_id' as message_id
        from outbox
        where xmin = (select xmin from fulfillment where message_id = %s)
    ), no_tracking as (
        delete from tracking where message_id in (select message_id from lost)
    ), no_effect as (
        delete from fulfillment where message_id in (select message_id from lost)
    ), no_rejection as (
        delete from rejection where message_id in (select message_id from lost)
    )
    delete from outbox where payload->>'message_id' in (select message_id from lost)
"""


def somewhere(places: Where) -> Spoil:
    """Return a mutant that is done at one of these places."""

    def spoil(site: Site, victims: Sequence[Sent], rng: random.Random) -> list[Sent]:
        place = rng.choice(sorted(places))
        places[place](site, [one.sample.message_id or "" for one in victims])
        return []

    return spoil


def swallow_a_commit(site: Site, victims: Sequence[Sent], _rng: random.Random) -> list[Sent]:
    """Let Postgres lose a transaction that it has acknowledged."""
    in_database("DATABASE_URL", SWALLOW)(site, [victims[0].sample.message_id or ""])
    return []


def skip_an_offset(site: Site, victims: Sequence[Sent], _rng: random.Random) -> list[Sent]:
    """Send another message for an order, and commit the offset after it before it is handled."""
    first = victims[0].sample
    skipped = second(first)._replace(message_id=f"{first.message_id}-skipped")
    for name in WORKERS:
        site.stack.stop(name)
    sending = Load(site.address("producer-kafka"), [skipped], rate=1000)
    sending.send_all()
    [sent] = sending.sent
    env = site.stack.env()
    place = sent.place
    servers = {"bootstrap.servers": env["KAFKA_BOOTSTRAP_SERVERS"], "group.id": env["GROUP_ID"]}
    with Consumer(servers) as consumer:
        after = TopicPartition(place.topic, place.partition, place.offset + 1)
        consumer.commit(offsets=[after], asynchronous=False)
    for name in WORKERS:
        site.stack.start(name)
    return [sent]


MUTANTS: dict[str, Spoil] = {
    "drop one event": somewhere(DROP),
    "double one row": somewhere(DOUBLE),
    "swap the values of two": somewhere(SWAP),
    "change one byte": somewhere(CHANGE),
    "swallow one database commit": swallow_a_commit,
    "skip one offset": skip_an_offset,
}
