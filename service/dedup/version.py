"""The highest version of each order: whatever is not newer than what was handled last is passed over."""

from service.dedup import DedupStore, InTransaction, Law, Write

TABLES = """
    create table if not exists order_version (
        subscriber text not null, order_id text not null,
        version    text collate "C" not null check (char_length(version) = 18), -- compared as text, as event ids
                                                                                 -- are: so all have one width
        touched_at timestamptz not null default now(),
        primary key (subscriber, order_id)
    );
    grant select, insert, update on order_version to app;

    -- Raises a version and returns what it was. VOLATILE on purpose: each statement in it looks with a snapshot of
    -- its own, so it sees the version that another worker committed while this one waited for the row.
    create or replace function raise_version(whose text, what text, reached text)
    returns text language plpgsql volatile as $$
    declare known text;
    begin
        insert into order_version values (whose, what, repeat('0', 18)) on conflict do nothing;
        select version into known from order_version where subscriber = whose and order_id = what for update;
        update order_version set version = reached, touched_at = now()
            where subscriber = whose and order_id = what and version < reached;
        return known;
    end $$;
"""

# Fresh is what is above the order's version, and above everything of this order before it in its batch.
FRESH = """
    select message_id from (
        select message_id, order_id, version, max(version) over (
            partition by order_id order by n rows between unbounded preceding and 1 preceding) as before
        from (select *, lpad(sequence::text, 18, '0') collate "C" as version from item where is_message) as versioned
    ) as numbered
    join (
        select order_id, raise_version(:subscriber, order_id, max(lpad(sequence::text, 18, '0') collate "C")) as known
        from item where is_message group by order_id order by order_id) as raised
    using (order_id)
    where version > greatest(known, before)
"""

# Retention: an order that nobody has touched for so long is not expected again.
FORGET = """
    delete from order_version where ctid = any(array(
        select ctid from order_version where subscriber = :subscriber and touched_at < :before
        limit :limit for update skip locked))
"""

BREAKS: frozenset[Law] = frozenset({"older_after_newer", "store_lost", "retention", "another_value"})


def store(write: Write) -> DedupStore:
    """Right where an event says how things stand, wrong where it says what is to be added: an older one is lost."""
    return InTransaction(write, FRESH, breaks=BREAKS, needs_sequence=True)
