"""What a store is held against: no dedup at all, and the tracking table that many write in a transaction of its own."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Engine, text

from service.database import classify_errors
from service.dedup import DedupStore, Handled, InTransaction, Write
from service.record import Item, Message

ALL = "fresh as (select message_id from item where is_message)"
SOME = "fresh as (select message_id from item where message_id = any(:message_ids))"
TABLES = """
    create table if not exists truth.seen (
        subscriber text not null, message_id text not null, primary key (subscriber, message_id));
    grant select, insert, delete on truth.seen to app;
"""
SEE = text("""
    insert into truth.seen select :subscriber, unnest(cast(:message_ids as text[]))
    on conflict do nothing returning message_id
""")


def nothing(write: Write) -> DedupStore:
    """Every message is fresh, always; what needs no memory works without one."""
    return InTransaction(write, ALL)


@dataclass
class Apart:
    """First the tracking row, committed; then the effect, in another transaction. A crash in between loses it."""

    write: Write
    engine: Engine
    subscriber: str
    needs_sequence: bool = False

    def claim(self, batch: Sequence[Item]) -> dict[str, Handled]:
        """What had not been seen is written down, and then given its effect."""
        ids = [item.message_id for item in batch if isinstance(item, Message)]
        with classify_errors(), self.engine.connect() as connection:
            fresh = list(
                connection.scalars(SEE, {"subscriber": self.subscriber, "message_ids": ids})
            )
        return self.write(SOME, batch, message_ids=fresh)

    def settle(self, batch: Sequence[Item]) -> None:
        """It is settled already, and that is what is wrong."""
