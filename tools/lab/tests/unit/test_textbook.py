"""The joins that reconciliation is measured against find what is wrong."""

from collections.abc import Iterator

import duckdb
import pytest

from lab.bench.textbook import JOINS, DefectError, refuse_defects

# One order on its whole path.
CLEAN = """
    create table landed as
    select * from (
        values
            ('order.events', 'order.events/0/0', 'a1', 'o-1', 'm-1', null),
            ('fulfillment.events', 'fulfillment.events/0/0', 'b1', 'o-1', null, 'e-1'),
            ('audit.events', 'audit.events/0/0', 'c1', 'o-1', null, 'e-2')
    ) as landed (topic, position, sha256, key, message_id, event_id);
    create table expected as select position from landed;
    create table tracking as
    select 'order.events/0/0' as position, 'a1' as sha256, 'm-1' as message_id;
    create table dead_letter (position text, letter text);
    create table fulfillment as select 'm-1' as message_id, '[1]' as compared;
    create table audit_entry as
    select 'x-1' as audit_entry_id, 'm-1' as message_id, '[2]' as audited, '[3]' as compared;
    create table outbox as
    select * from (
        values
            ('e-1', 'fulfillment.events', 'b1', 'fulfilled', '[1]', '[2]', null),
            ('e-2', 'audit.events', 'c1', null, '[3]', null, 'x-1')
    ) as outbox (event_id, topic, sha256, outcome, compared, audited, audit_entry_id);
    alter table outbox add column key text default 'o-1';
    alter table outbox add column message_id text default 'm-1';
    alter table outbox add column letter text;
    alter table outbox add column value_sha256 text;
"""
DEFECTS = {
    "topics → landed": "delete from landed where topic = 'audit.events'",
    "order.events → tracking or dead letter": "update tracking set sha256 = 'a2'",
    "tracking → fulfillment or rejection": "delete from fulfillment",
    "tracking → outbox": "delete from outbox where event_id = 'e-1'",
    "dead letter → outbox": "insert into dead_letter values ('order.events/0/1', 'l-1')",
    "tracking → audit entry": "insert into audit_entry select * from audit_entry",
    "audit entry → outbox": "update audit_entry set compared = '[4]'",
    "outbox → topics": "update landed set sha256 = 'b2' where event_id = 'e-1'",
}


@pytest.fixture
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    """The rows of one order, as they should be."""
    with duckdb.connect() as connection:
        connection.execute(CLEAN)
        yield connection


@pytest.mark.parametrize("hop", JOINS)
def test_a_join_finds_nothing_where_nothing_is(
    database: duckdb.DuckDBPyConnection, hop: str
) -> None:
    """An order on its whole path has no defect in any hop."""
    refuse_defects(hop, database.execute(JOINS[hop]).fetchone())


@pytest.mark.parametrize("hop", JOINS)
def test_a_join_finds_what_is_wrong(database: duckdb.DuckDBPyConnection, hop: str) -> None:
    """A defect planted in a hop ends the measurement: no arm is fast because it does not look."""
    database.execute(DEFECTS[hop])
    with pytest.raises(DefectError, match=hop):
        refuse_defects(hop, database.execute(JOINS[hop]).fetchone())
