"""What one record does: claim, entity and event, all in one transaction or none of it."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from extras.dynamodb.outbox.connection import classify_errors
from extras.dynamodb.outbox.event import Event, buried, tallied, to_item
from extras.dynamodb.outbox.settings import SECONDS_OF_A_DAY, Settings
from service.handler import CONFLICT
from service.outage import OutageError
from service.record import DeadLetter, Item, Message, Record, read

Outcome = Literal["tallied", "repeat", "conflict", "dropped", "dead_letter"]
Part = dict[str, Any]  # of a transaction
Reason = dict[str, Any]  # why a part did not hold

CONDITION_FAILED = "ConditionalCheckFailed"
NO_NUMBER = "headers.sequence: should be given once, 1 to 18 digits (DYNAMODB_DEDUP=number)"
NO_SOURCE = "headers.source: should be given at most once, 1 to 64 printable characters"
SOURCE_LENGTH = 64

# A number is new if it is above the last of its source. Both are numbers: as text, 10 is below 9.
ADD_NUMBERED = "SET #last = :number ADD orders :one, #total :total"
IS_NEW = "attribute_not_exists(#last) OR #last < :number"
ADD = "ADD orders :one, #total :total"


@dataclass
class Writer:
    """Writes what comes of a record; a record that came before changes nothing."""

    client: Any
    settings: Settings
    clock: Callable[[], float] = time.time  # only for when DynamoDB may forget

    def write(self, record: Record) -> Outcome:
        """Write a record's transaction, and return what has become of the record."""
        item = self.read(record)
        if isinstance(item, DeadLetter):
            self.bury(item)
            return "dead_letter"
        if self.settings.is_numbered:
            return self.write_numbered(item)
        return self.write_claimed(item)

    def read(self, record: Record) -> Item:
        """Return the message in a record, or a dead letter that says why there is none."""
        item = read(record)
        if isinstance(item, DeadLetter) or not self.settings.is_numbered:
            return item
        if item.sequence is None:
            return DeadLetter(record, "invalid", NO_NUMBER)
        if find_source(record) is None:
            return DeadLetter(record, "invalid", NO_SOURCE)
        return item

    def write_claimed(self, message: Message) -> Outcome:
        """Claim the message, add it to its tally and put its event: all three, or nothing."""
        parts = [self.claim(message), self.add(message), self.put(self.event(message))]
        refused = self.transact(parts)
        if not refused:
            return "tallied"
        claimed = refused[0]["Item"]["value_sha256"]["S"]
        if claimed == message.value_sha256:
            return "repeat"
        self.bury(DeadLetter(message.record, "conflict", CONFLICT))
        return "conflict"

    def write_numbered(self, message: Message) -> Outcome:
        """Add the message to its tally if its number is new there, and put its event."""
        parts = [self.add_numbered(message), self.put(self.event(message))]
        return "dropped" if self.transact(parts) else "tallied"

    def bury(self, letter: DeadLetter) -> None:
        """Put the event of a dead letter; a second time it is the same item."""
        event = buried(letter, self.settings.tally_dead_letter_topic)
        self.transact([self.put(event)])

    def event(self, message: Message) -> Event:
        """Return the event of a message."""
        return tallied(message, self.settings.tally_topic)

    def claim(self, message: Message) -> Part:
        """Return the claim: it fails if there is one, and then tells of which value that is."""
        return {
            "Put": {
                "TableName": self.settings.tally_claim_table,
                "Item": {
                    "message_id": message.message_id,
                    "value_sha256": message.value_sha256,
                    "expires_at": self.expiry(self.settings.dynamodb_retention_days),
                },
                "ConditionExpression": "attribute_not_exists(message_id)",
                "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            }
        }

    def add(self, message: Message) -> Part:
        """Return the change of the tally."""
        return {
            "Update": {
                "TableName": self.settings.tally_table,
                "Key": {"id": message.order["customer_id"]},
                "UpdateExpression": ADD,
                "ExpressionAttributeNames": {"#total": "total"},
                "ExpressionAttributeValues": {":one": 1, ":total": Decimal(message.total)},
            }
        }

    def add_numbered(self, message: Message) -> Part:
        """Return the change of the tally under the condition that the message's number is new."""
        part = self.add(message)
        update = part["Update"]
        update["UpdateExpression"] = ADD_NUMBERED
        update["ConditionExpression"] = IS_NEW
        update["ExpressionAttributeNames"]["#last"] = f"last:{find_source(message.record)}"
        update["ExpressionAttributeValues"][":number"] = message.sequence
        return part

    def put(self, event: Event) -> Part:
        """Return the item of the outbox."""
        item = to_item(event, self.expiry(self.settings.tally_outbox_days))
        return {"Put": {"TableName": self.settings.tally_outbox_table, "Item": item}}

    def expiry(self, days: float) -> int:
        """Return the time from which on DynamoDB may delete what is written now."""
        return int(self.clock() + days * SECONDS_OF_A_DAY)

    def transact(self, parts: list[Part]) -> list[Reason]:
        """Write all or nothing; return a reason for each part if a condition did not hold.

        An answer that is lost is an outage: the same again finds out what has happened.
        """
        try:
            with classify_errors():
                self.client.transact_write_items(TransactItems=parts)
        except self.client.exceptions.TransactionCanceledException as error:
            reasons: list[Reason] = error.response["CancellationReasons"]
            others = {reason["Code"] for reason in reasons} - {"None", CONDITION_FAILED}
            if others:  # another transaction has one of the items just now, or we are throttled
                raise OutageError(f"DynamoDB: {', '.join(sorted(others))}") from error
            return reasons
        return []


def find_source(record: Record) -> str | None:
    """Return the aggregate that has published a record; without a header there is only one."""
    given = record.header_values("source")
    if not given:
        return ""
    source = given[0].decode(errors="surrogateescape")
    is_good = len(given) == 1 and 1 <= len(source) <= SOURCE_LENGTH and source.isprintable()
    return source if is_good else None
