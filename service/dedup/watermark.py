"""A high-water mark: the highest sequence number of each partition, and nothing else however many messages come."""

from service.dedup import DedupStore, InTransaction, Law, Write

TABLES = """
    create table if not exists watermark (
        subscriber text not null, topic text not null, partition integer not null,
        sequence   bigint not null,  -- every number up to this one has been handled, or will never be
        primary key (subscriber, topic, partition)
    );
    grant select, insert, update on watermark to app;

    -- Raises a mark and returns what it was. VOLATILE on purpose: each statement in it looks with a snapshot of its
    -- own, so it sees the mark that another worker committed while this one waited for the row.
    create or replace function raise_watermark(whose text, what text, number integer, reached bigint)
    returns bigint language plpgsql volatile as $$
    declare mark bigint;
    begin
        insert into watermark values (whose, what, number, -1) on conflict do nothing;
        select sequence into mark from watermark
            where subscriber = whose and topic = what and partition = number for update;
        update watermark set sequence = reached
            where subscriber = whose and topic = what and partition = number and sequence < reached;
        return mark;
    end $$;
"""

# Fresh is what is above the mark, and above everything before it in its batch.
FRESH = """
    select message_id from (
        select message_id, topic, partition, sequence, max(sequence) over (
            partition by topic, partition order by "offset" rows between unbounded preceding and 1 preceding) as before
        from item where is_message) as numbered
    join (
        select topic, partition, raise_watermark(:subscriber, topic, partition, max(sequence)) as mark
        from item where is_message group by topic, partition order by topic, partition) as raised
    using (topic, partition)
    where sequence > greatest(mark, before)
"""

MARKS = "select subscriber, sequence from watermark where topic = :topic and partition = :partition order by subscriber"

BREAKS: frozenset[Law] = frozenset({"disorder", "more_partitions", "two_producers", "store_lost", "another_value"})


def store(write: Write) -> DedupStore:
    """A lower number that comes late is lost without a word: numbers must strictly increase in each partition."""
    return InTransaction(write, FRESH, breaks=BREAKS, needs_sequence=True)
