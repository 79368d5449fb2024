"""Dedup as the field writes it on DynamoDB: look, work, and a conditional put last. It is shown to double."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from service.dedup import Handled, Write
from service.record import Item, Message

SOME = "fresh as (select message_id from item where message_id = any(:message_ids))"


def go_on() -> None:
    """There is no more to do."""


@dataclass
class Plain:
    """Whoever loses the put takes his message for a duplicate, after he has worked on it.

    `again` looks once more just before the effect, when the `work` (a request to somebody, say) is done: the hole
    is then as wide as the effect alone, and still there.
    """

    write: Write
    client: Any
    table: str
    subscriber: str
    again: bool = False
    work: Callable[[], None] = go_on
    needs_sequence: bool = False

    def claim(self, batch: Sequence[Item]) -> dict[str, Handled]:
        """Work on what is not there yet, and give it its effect."""
        fresh = self.unknown([item.message_id for item in batch if isinstance(item, Message)])
        self.work()
        return self.write(SOME, batch, message_ids=self.unknown(fresh) if self.again else fresh)

    def unknown(self, message_ids: Sequence[str]) -> list[str]:
        """Those that are not in the table, now."""
        return [message_id for message_id in message_ids if "Item" not in self.look(message_id)]

    def look(self, message_id: str) -> dict[str, Any]:
        """What is known of one message."""
        found: dict[str, Any] = self.client.get_item(
            TableName=self.table, Key=self.key(message_id), ConsistentRead=True
        )
        return found

    def settle(self, batch: Sequence[Item]) -> None:
        """Put them, unless they are there."""
        for message_id in [item.message_id for item in batch if isinstance(item, Message)]:
            with suppress(self.client.exceptions.ConditionalCheckFailedException):
                absent = "attribute_not_exists(id)"
                self.client.put_item(
                    TableName=self.table, Item=self.key(message_id), ConditionExpression=absent
                )

    def key(self, message_id: str) -> dict[str, str]:
        """Apart from the items of the store that has leases."""
        return {"id": f"plain/{self.subscriber}#{message_id}"}
