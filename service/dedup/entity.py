"""Ids in the entity: the row of an order holds the ids of the messages that were handled for it."""

from service.dedup import DedupStore, InTransaction, Write

TABLES = """
    create table if not exists order_state (
        subscriber  text not null, order_id text not null,
        message_ids text[] not null default '{}',  -- beside them, whatever else is known of the order
        touched_at  timestamptz not null default now(),
        primary key (subscriber, order_id)
    );
    grant select, insert, update on order_state to app;

    -- Adds ids to an order and returns those that it did not have. VOLATILE on purpose: each statement in it looks
    -- with a snapshot of its own, so it sees the ids that another worker committed while this one waited for the row.
    create or replace function add_message_ids(whose text, what text, given text[])
    returns text[] language plpgsql volatile as $$
    declare known text[];
    begin
        insert into order_state values (whose, what) on conflict do nothing;
        select message_ids into known from order_state where subscriber = whose and order_id = what for update;
        given := array(select id from unnest(given) as id where id <> all(known));
        if cardinality(given) > 0 then
            update order_state set message_ids = known || given, touched_at = now()
                where subscriber = whose and order_id = what;
        end if;
        return given;
    end $$;
"""

FRESH = """
    select unnest(given) as message_id from (
        select add_message_ids(:subscriber, order_id, array_agg(message_id order by n)) as given
        from item where is_message group by order_id order by order_id) as added
"""

# Retention: the row stays, for it is the order's; the ids go once nothing has come for so long.
FORGET = """
    update order_state set message_ids = '{}' where ctid = any(array(
        select ctid from order_state
        where subscriber = :subscriber and touched_at < :before and message_ids <> '{}'
        limit :limit for update skip locked))
"""


def store(write: Write) -> DedupStore:
    """No table more, but a row that grows: for orders of which few messages come."""
    return InTransaction(write, FRESH, breaks=frozenset({"store_lost", "retention", "another_value"}))
