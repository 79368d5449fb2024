"""DynamoDB: a claim with an owner, a lease and a fencing token; in Postgres a fence, which decides.

The fence is a tracking table by another name: whatever leases, clocks and DynamoDB itself do, a
message has one effect because its transaction looks there. What DynamoDB adds is that a worker sees
what others are working on before it begins. A bare emit, such as a POST, stays at-least-once under
any lease: it has no transaction that could look.
"""

import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from pydantic import Field
from pydantic_core import to_json
from pydantic_settings import BaseSettings

from contract.names import SUBSCRIBER
from service.dedup import DedupStore, Handled, Write
from service.logs import exit_with_error
from service.outage import OutageError
from service.record import Item, Message

try:
    from extras.dynamodb import client as dynamodb
except ModuleNotFoundError as missing:
    exit_with_error(f"DEDUP_STORE=dynamodb: {missing}; install it: pip install '.[dynamodb]'")

# Insert first, as in tracking. Only a stolen message finds a row, and then the highest token wins,
# once. A thief comes here twice: the first time before its work, with done = false, so that the
# worker that it has stolen from is too late from then on.
FENCED = """
fresh as (
    insert into fence (subscriber, message_id, token, done)
    select :subscriber, message_id, token::bigint, cast(:done as boolean)
    from item
    join json_each_text(cast(:tokens as json)) as claimed (message_id, token) using (message_id)
    order by message_id
    on conflict (subscriber, message_id) do update set
        token = excluded.token,
        done = excluded.done
    where not fence.done and fence.token <= excluded.token
    returning case when done then message_id end as message_id
)
"""

# Retention of the fence, as in tracking; DynamoDB has its own.
FORGET = """
delete from fence
where ctid = any(array(
    select ctid
    from fence
    where subscriber = :subscriber and touched_at < :before
    limit :limit
    for update skip locked
))
"""

Part = TypeVar("Part")
ItemOfTable = dict[str, Any]
Put = dict[str, Any]

# Items that one request may read, or write as one transaction.
REQUEST_ITEMS = 100

# Nobody has changed the item since we read it.
UNCHANGED = "attribute_not_exists(id) or (fencing_token = :seen and done = :no)"

CONDITION_FAILED = "ConditionalCheckFailed"
WAY_OUT = {
    "ResourceNotFoundException": (
        "there is no table DYNAMODB_TABLE; `python -m extras.dynamodb.store` makes it"
    ),
    "AccessDeniedException": "the key may not BatchGetItem and PutItem in DYNAMODB_TABLE",
    "UnrecognizedClientException": "AWS_ACCESS_KEY_ID is not known there",
}


class Settings(BaseSettings):
    """Read from the environment, where boto3 also looks for AWS_DEFAULT_REGION and the keys."""

    # A # separates it from the message id.
    subscriber: str = Field(default=SUBSCRIBER, pattern="^[^#]+$")
    dynamodb_url: str | None = None  # None: AWS's own
    dynamodb_table: str = "dedup"
    # After a crash others wait this long; too short a lease costs work, never an effect.
    dynamodb_lease_seconds: float = 10
    dynamodb_retention_days: float = 30  # more than a topic's retention and the longest replay
    dynamodb_timeout_seconds: float = 2  # a batch of 500 makes 15 requests, all between two polls


TABLE_SECONDS = 30.0  # no consumer has to poll while a table is made


class Sighting(NamedTuple):
    """Another worker's token, and since when it has not changed."""

    token: int
    since: float


class Claim(NamedTuple):
    """A token of ours, and the hash of the message that was handled under it."""

    token: int
    value_sha256: str


@dataclass
class Leases:
    """The claims of one worker.

    Clocks may be hours apart: a lease is timed by the worker that waits for its end.
    """

    write: Write
    client: Any
    settings: Settings
    owner: str = field(default_factory=lambda: uuid.uuid4().hex)
    elapsed: Callable[[], float] = time.monotonic
    clock: Callable[[], float] = time.time  # only for when DynamoDB may forget
    fresh: str = FENCED
    needs_sequence: bool = False
    seen: dict[str, Sighting] = field(default_factory=dict)
    held: dict[str, Claim] = field(default_factory=dict)

    def claim(self, batch: Sequence[Item]) -> dict[str, Handled]:
        """Claim all that is not done, or wait; then the fence decides what of it is fresh."""
        messages = {item.message_id: item for item in batch if isinstance(item, Message)}
        items = {key: self.unclaimed(message) for key, message in messages.items()}
        items |= self.read(sorted(messages))
        todo = {key: items[key] for key in sorted(items) if not items[key]["done"]}
        taken = [key for key, item in todo.items() if self.is_taken(key, item)]
        if taken:
            raise OutageError(
                f"DynamoDB: {len(taken)} messages are in another worker's hands, such as {taken[0]}"
            )
        tokens = self.take(todo)
        bound = {"tokens": to_json(tokens).decode()}
        stolen = [messages[key] for key, item in todo.items() if item["owner"] != self.owner]
        if stolen:
            self.write(self.fresh, stolen, **bound, done=False)
        known = self.write(self.fresh, batch, **bound, done=True)
        lost = sorted(tokens.keys() - known.keys())
        if lost:
            raise OutageError(
                f"DynamoDB: another worker took {len(lost)} messages away, such as {lost[0]}"
            )
        known = {key: complete(handled, items[key]) for key, handled in known.items()}
        for key, token in tokens.items():
            value_sha256 = known[key].value_sha256 or items[key]["value_sha256"]
            self.held[key] = Claim(token, value_sha256)
        return known

    def unclaimed(self, message: Message) -> ItemOfTable:
        """Return what an item that is not there counts as."""
        return {
            "owner": self.owner,
            "fencing_token": 0,
            "done": False,
            "value_sha256": message.value_sha256,
        }

    def is_taken(self, key: str, item: ItemOfTable) -> bool:
        """Return whether another worker has it, whose token has changed within its lease."""
        if item["owner"] == self.owner:
            return False
        token = item["fencing_token"]
        if key not in self.seen or self.seen[key].token != token:
            self.seen[key] = Sighting(token, self.elapsed())
        lease_seconds = float(item["lease_ms"]) / 1000
        return self.elapsed() - self.seen[key].since < lease_seconds

    def take(self, todo: dict[str, ItemOfTable]) -> dict[str, int]:
        """Claim them with their next tokens, sorted by id, so that no workers block each other."""
        tokens = {key: int(item["fencing_token"]) + 1 for key, item in todo.items()}
        puts = []
        for key, token in tokens.items():
            claim = Claim(token, todo[key]["value_sha256"])
            puts.append(self.put(key, token - 1, claim, done=False))
        for some in split(puts):
            if self.put_all(some):
                raise OutageError("DynamoDB: another worker was faster")
        return tokens

    def settle(self, batch: Sequence[Item]) -> None:
        """Mark as done what is still ours; a thief marks what it took."""
        ids = [item.message_id for item in batch if isinstance(item, Message)]
        ours = sorted(key for key in ids if key in self.held)
        puts = [self.put(key, self.held[key].token, self.held[key], done=True) for key in ours]
        for some in split(puts):
            remaining = some
            lost = self.put_all(remaining)
            while lost:
                remaining = [put for put in remaining if put not in lost]
                lost = self.put_all(remaining)
        self.held.clear()
        self.seen.clear()

    def put(self, key: str, seen: int, claim: Claim, *, done: bool) -> Put:
        """Return a claim of ours, or its end, for as long as nobody has changed what we saw."""
        settings = self.settings
        retention_seconds = settings.dynamodb_retention_days * 86400
        item = {
            "id": self.id(key),
            "owner": self.owner,
            "lease_ms": int(settings.dynamodb_lease_seconds * 1000),
            "fencing_token": claim.token,
            "done": done,
            "value_sha256": claim.value_sha256,
            "expires_at": int(self.clock() + retention_seconds),  # of a live claim, too
        }
        return {
            "Put": {
                "TableName": settings.dynamodb_table,
                "Item": item,
                "ConditionExpression": UNCHANGED,
                "ExpressionAttributeValues": {":seen": seen, ":no": False},
            }
        }

    def read(self, keys: Sequence[str]) -> dict[str, ItemOfTable]:
        """Return the items that are there, each as it is now."""
        table = self.settings.dynamodb_table
        found: list[ItemOfTable] = []
        for some in split(keys):
            request = {"Keys": [{"id": self.id(key)} for key in some], "ConsistentRead": True}
            with dynamodb.classify_errors(WAY_OUT):
                answer = self.client.batch_get_item(RequestItems={table: request})
            if answer["UnprocessedKeys"]:
                raise OutageError("DynamoDB: throttled")
            found += answer["Responses"][table]
        return {item["id"].partition("#")[2]: item for item in found}

    def put_all(self, puts: list[Put]) -> list[Put]:
        """Write all or nothing, and return those whose condition did not hold."""
        if not puts:
            return []
        try:
            with dynamodb.classify_errors(WAY_OUT):
                self.client.transact_write_items(TransactItems=puts)
        except self.client.exceptions.TransactionCanceledException as error:
            reasons = [reason["Code"] for reason in error.response["CancellationReasons"]]
            if set(reasons) - {"None", CONDITION_FAILED}:
                # A conflict with another transaction, or throttled.
                raise OutageError(f"DynamoDB: {error}") from error
            pairs = zip(puts, reasons, strict=True)
            return [put for put, reason in pairs if reason == CONDITION_FAILED]
        return []

    def id(self, key: str) -> str:
        """Return the item's key."""
        return f"{self.settings.subscriber}#{key}"


def complete(handled: Handled, item: ItemOfTable) -> Handled:
    """Return what is known of a message, with what only DynamoDB knows of an earlier handling."""
    if handled.first:
        return handled
    return handled._replace(
        value_sha256=handled.value_sha256 or item["value_sha256"],
        audited=handled.audited or item["done"],
    )


def split(things: Sequence[Part]) -> list[list[Part]]:
    """Split them into lists that one request takes."""
    starts = range(0, len(things), REQUEST_ITEMS)
    return [list(things[start : start + REQUEST_ITEMS]) for start in starts]


def connect(settings: Settings) -> Any:
    """Return a client that gives up soon, because the consumer has to poll in the meantime."""
    return dynamodb.connect(settings.dynamodb_url, settings.dynamodb_timeout_seconds)


def make_table(settings: Settings) -> None:
    """Make the table of all subscribers, unless it is there; DynamoDB deletes what has expired."""
    patient = settings.model_copy(update={"dynamodb_timeout_seconds": TABLE_SECONDS})
    client = connect(patient)
    table = settings.dynamodb_table
    with suppress(client.exceptions.ResourceInUseException):
        client.create_table(
            TableName=table,
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        client.get_waiter("table_exists").wait(TableName=table)
        expiry = {"Enabled": True, "AttributeName": "expires_at"}
        client.update_time_to_live(TableName=table, TimeToLiveSpecification=expiry)


def make_store(write: Write) -> DedupStore:
    """Return a store that forgets in two places: what both have forgotten is fresh again."""
    settings = Settings()
    return Leases(write, connect(settings), settings)


if __name__ == "__main__":
    make_table(Settings())
