"""A high-water mark: the highest sequence number of each partition, and nothing else however many messages come."""

from service.dedup import DedupStore, InTransaction, Law, Write

TABLES = """
    create table if not exists watermark (
        subscriber text not null, topic text not null, partition integer not null,
        sequence   bigint not null,  -- every number up to this one has been handled, or will never be
        primary key (subscriber, topic, partition)
    );
    grant select, insert, update on watermark to app;
"""

# One conditional update of each mark, which also returns what the mark was (PostgreSQL 18); a mark that is not
# raised returns nothing. Fresh is what is above it, and above everything before it in its batch.
FRESH = """
    raised as (
        insert into watermark as w (subscriber, topic, partition, sequence)
        select :subscriber, topic, partition, max(sequence)
        from item where is_message group by topic, partition order by topic, partition
        on conflict (subscriber, topic, partition) do update set sequence = excluded.sequence
        where w.sequence < excluded.sequence
        returning topic, partition, coalesce(old.sequence, -1) as mark
    ), numbered as (
        select message_id, topic, partition, sequence, max(sequence) over (
            partition by topic, partition order by "offset" rows between unbounded preceding and 1 preceding) as before
        from item where is_message
    ), fresh as (
        select message_id from numbered join raised using (topic, partition) where sequence > greatest(mark, before)
    )
"""

MARKS = "select subscriber, sequence from watermark where topic = :topic and partition = :partition order by subscriber"

BREAKS: frozenset[Law] = frozenset({"disorder", "more_partitions", "two_producers", "store_lost", "another_value"})


def store(write: Write) -> DedupStore:
    """A lower number that comes late is lost without a word: numbers must strictly increase in each partition."""
    return InTransaction(write, FRESH, breaks=BREAKS, needs_sequence=True)
