"""What the stores are compared with: no dedup, and a tracking table in a transaction of its own."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Engine, text

from service.database import classify_errors
from service.dedup import DedupStore, Handled, InTransaction, Write
from service.record import Item, Message

TABLE = "dedup_matrix.seen"
TABLES = """
    create table if not exists dedup_matrix.seen (
        subscriber text not null,
        message_id text not null,
        primary key (subscriber, message_id)
    );
    grant select, insert, delete on dedup_matrix.seen to app;
"""
ALL_FRESH = """
    fresh as (
        select message_id
        from item
        where is_message
    )
"""
CHOSEN_FRESH = """
    fresh as (
        select message_id
        from item
        where message_id = any(:message_ids)
    )
"""
INSERT_SEEN = text("""
    insert into dedup_matrix.seen
    select :subscriber, unnest(cast(:message_ids as text[]))
    on conflict do nothing
    returning message_id
""")
# Repeats, and whatever else makes a message come again.
NEED_MEMORY = frozenset(
    {
        "repeated",
        "repeated_in_a_batch",
        "two_workers",
        "rebalance",
        "crash_after_effect",
        "slow_worker",
        "more_partitions",
        "store_lost",
        "retention",
        "another_value",
        "two_subscribers",
        "older_state",
    }
)


def no_memory(write: Write) -> DedupStore:
    """Return a store for which every message is fresh, always."""
    return InTransaction(write, ALL_FRESH)


@dataclass
class SeparateTransaction:
    """Commits the tracking row first, then the effect: a crash in between loses the effect."""

    write: Write
    engine: Engine
    subscriber: str
    needs_sequence: bool = False

    def claim(self, batch: Sequence[Item]) -> dict[str, Handled]:
        """Track what has not been seen, then give it its effect."""
        message_ids = [item.message_id for item in batch if isinstance(item, Message)]
        asked = {"subscriber": self.subscriber, "message_ids": message_ids}
        with classify_errors(), self.engine.connect() as connection:
            fresh = list(connection.scalars(INSERT_SEEN, asked))
        return self.write(CHOSEN_FRESH, batch, message_ids=fresh)

    def settle(self, batch: Sequence[Item]) -> None:
        """Do nothing: it is settled already, and that is what is wrong with it."""
