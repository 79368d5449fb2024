"""What the tests of the outbox share: orders, tables of a test's own, and what is in them."""

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from extras.dynamodb.outbox.connection import Clients, connect
from extras.dynamodb.outbox.event import Event, from_item
from extras.dynamodb.outbox.settings import Settings
from extras.dynamodb.outbox.tables import describe_tables, make_table
from service.record import Record
from tests.builders import record, value
from tests.client import fresh

PRICE = Decimal("47.70")  # of each order that the builders make


class Tally(NamedTuple):
    """What the entity has of a customer."""

    orders: int
    total: Decimal
    last: dict[str, int]  # by source


class Tables:
    """Tables that no other test has."""

    def __init__(self, url: str, **settings: Any) -> None:
        prefix = fresh("tally")
        self.environment = {
            "DYNAMODB_URL": url,
            "TALLY_TABLE": prefix,
            "TALLY_CLAIM_TABLE": f"{prefix}-claim",
            "TALLY_OUTBOX_TABLE": f"{prefix}-outbox",
            "TALLY_SHARD_TABLE": f"{prefix}-shard",
        }
        named = {name.lower(): text for name, text in self.environment.items()}
        self.settings = Settings(**{**named, **settings})
        self.clients: Clients = connect(self.settings)
        self.make()

    def make(self) -> None:
        """Make what is missing. In DynamoDB Local, tables that expire hold up shards that close."""
        for table in describe_tables(self.settings):
            make_table(self.clients.tables, table._replace(expires=False))

    def drop(self) -> None:
        """Delete them. In DynamoDB Local, shards close in the first hundred tables alone."""
        for table in describe_tables(self.settings):
            self.clients.tables.delete_table(TableName=table.name)

    def tally(self, customer_id: str) -> Tally:
        """Return a customer's tally."""
        found = self.clients.tables.get_item(
            TableName=self.settings.tally_table, Key={"id": customer_id}, ConsistentRead=True
        )
        item = found.get("Item", {"orders": 0, "total": 0})
        last = {
            name.partition(":")[2]: int(number)
            for name, number in item.items()
            if name.startswith("last:")
        }
        return Tally(int(item["orders"]), Decimal(item["total"]), last)

    def outbox(self) -> list[Event]:
        """Return every event of the outbox."""
        pages = self.clients.tables.get_paginator("scan").paginate(
            TableName=self.settings.tally_outbox_table, ConsistentRead=True
        )
        return [from_item(item) for page in pages for item in page["Items"]]

    def messages(self) -> list[str]:
        """Return the message ids that have an event in the outbox, sorted."""
        return sorted(message_ids(self.outbox()))


def message_ids(events: Sequence[Event]) -> list[str]:
    """Return the id of the message that each event is about."""
    return [json.loads(event.value)["message_id"] for event in events]


def order(
    message_id: str = "m-1",
    customer_id: str = "c-1",
    *,
    sequence: int | None = None,
    source: str | None = None,
    **changes: Any,
) -> Record:
    """Return the record of a message for this customer, perhaps with a number of its source."""
    headers: list[tuple[str, bytes | None]] = []
    if sequence is not None:
        headers.append(("sequence", str(sequence).encode()))
    if source is not None:
        headers.append(("source", source.encode()))
    content = value(f"o-{message_id}", customer_id=customer_id, **changes)
    return record(message_id, content, headers)
