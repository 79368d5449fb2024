"""DynamoDB: a claim with an owner, a lease and a fencing token; and in Postgres a fence, which decides.

The fence is a tracking table by another name: whatever leases, clocks and DynamoDB itself do, a message has one
effect because its transaction looks there. What DynamoDB adds is that a worker sees what others have in hand before
it begins. A bare emit, such as a POST, stays at-least-once under any lease: it has no transaction that could look.
"""

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import Field
from pydantic_core import to_json
from pydantic_settings import BaseSettings

from service.dedup import DedupStore, Handled, Write
from service.logs import exit_with_error
from service.outage import OutageError
from service.record import Item, Message

try:
    import boto3
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError, ClientError
except ModuleNotFoundError as missing:
    exit_with_error(f"DEDUP_STORE=dynamodb: {missing}; install it: pip install '.[dynamodb]'")

# Insert first, as in tracking; only what was stolen finds a row, and then the highest token wins, once. A thief
# comes here twice: before its work with done = false, so that whoever was robbed is too late from now on.
FENCED = """
    fresh as (
        insert into fence (subscriber, message_id, token, done)
        select :subscriber, message_id, token::bigint, cast(:done as boolean)
        from item join json_each_text(cast(:tokens as json)) as claimed (message_id, token) using (message_id)
        order by message_id
        on conflict (subscriber, message_id) do update set token = excluded.token, done = excluded.done
        where not fence.done and fence.token <= excluded.token
        returning case when done then message_id end as message_id
    )
"""

# Retention of the fence, as in tracking; DynamoDB has its own.
FORGET = """
    delete from fence where ctid = any(array(
        select ctid from fence where subscriber = :subscriber and touched_at < :before
        limit :limit for update skip locked))
"""

Part = TypeVar("Part")
AT_ONCE = 100  # items that one request may read, or write as one transaction, at twice the units of single writes
UNMOVED = "attribute_not_exists(id) or (fencing_token = :seen and done = :no)"  # nobody has been there since we looked
WAY_OUT = {
    "ResourceNotFoundException": "there is no table DYNAMODB_TABLE; `python -m extras.dynamodb.store` makes it",
    "AccessDeniedException": "the key may not BatchGetItem and PutItem in DYNAMODB_TABLE",
    "UnrecognizedClientException": "AWS_ACCESS_KEY_ID is not known there",
}


class Settings(BaseSettings):
    """Read from the environment; AWS_DEFAULT_REGION and the keys are found there, too, or wherever boto3 looks."""

    subscriber: str = Field(
        default="fulfillment", pattern="^[^#]+$"
    )  # a # parts it from the message id
    dynamodb_url: str | None = None  # or else AWS's own
    dynamodb_table: str = "dedup"
    dynamodb_lease_seconds: float = (
        10  # after a crash others wait so long; too short costs work, never an effect
    )
    dynamodb_retention_days: float = 30  # more than a topic's retention and the longest replay
    dynamodb_timeout_seconds: float = 2  # a batch of 500 makes 15 requests, all between two polls


@dataclass
class Leases:
    """The claims of one worker. Clocks may be hours apart: a lease is timed by whoever waits for its end."""

    write: Write
    client: Any
    settings: Settings
    owner: str = field(default_factory=lambda: uuid.uuid4().hex)
    elapsed: Callable[[], float] = time.monotonic
    clock: Callable[[], float] = time.time  # only for when DynamoDB may forget
    fresh: str = FENCED
    needs_sequence: bool = False
    seen: dict[str, tuple[int, float]] = field(
        default_factory=dict
    )  # somebody's token, and since when it stands
    held: dict[str, tuple[int, str]] = field(
        default_factory=dict
    )  # our token, and the hash of what was handled

    def claim(self, batch: Sequence[Item]) -> dict[str, Handled]:
        """Claim what is not done, all of it or wait; then the fence decides what of it is fresh."""
        messages = {item.message_id: item for item in batch if isinstance(item, Message)}
        items = {key: self.unclaimed(message) for key, message in messages.items()} | self.read(
            sorted(messages)
        )
        todo = {key: items[key] for key in sorted(items) if not items[key]["done"]}
        if taken := [key for key, item in todo.items() if self.is_taken(key, item)]:
            raise OutageError(
                f"DynamoDB: {len(taken)} messages are in another worker's hands, such as {taken[0]}"
            )
        tokens = self.take(todo)
        given = to_json(tokens).decode()
        if stolen := [messages[key] for key, item in todo.items() if item["owner"] != self.owner]:
            self.write(self.fresh, stolen, tokens=given, done=False)
        known = self.write(self.fresh, batch, tokens=given, done=True)
        if lost := sorted(tokens.keys() - known.keys()):
            raise OutageError(
                f"DynamoDB: {len(lost)} messages were taken away by another worker, such as {lost[0]}"
            )
        for key in [key for key, handled in known.items() if not handled.first]:
            before = {
                "value_sha256": items[key]["value_sha256"],
                "audited": known[key].audited or items[key]["done"],
            }
            known[key] = known[key]._replace(**before)
        self.held |= {key: (token, known[key].value_sha256) for key, token in tokens.items()}
        return known

    def unclaimed(self, message: Message) -> dict[str, Any]:
        """What stands for an item that is not there."""
        return {
            "owner": self.owner,
            "fencing_token": 0,
            "done": False,
            "value_sha256": message.value_sha256,
        }

    def is_taken(self, key: str, item: dict[str, Any]) -> bool:
        """Whether somebody else has it, whose token did not yet stand still before our eyes for his whole lease."""
        if item["owner"] == self.owner:
            return False
        if key not in self.seen or self.seen[key][0] != item["fencing_token"]:
            self.seen[key] = item["fencing_token"], self.elapsed()
        return self.elapsed() - self.seen[key][1] < float(item["lease_ms"]) / 1000

    def take(self, todo: dict[str, Any]) -> dict[str, int]:
        """Claim them with their next tokens, in the sequence of their ids: so no two workers wait for each other."""
        tokens = {key: int(item["fencing_token"]) + 1 for key, item in todo.items()}
        puts = [
            self.put(key, token - 1, token, todo[key]["value_sha256"], False)
            for key, token in tokens.items()
        ]
        if any(self.refused(some) for some in parts(puts)):
            raise OutageError("DynamoDB: another worker was faster")
        return tokens

    def settle(self, batch: Sequence[Item]) -> None:
        """Mark as done what is still ours; a thief marks what it took."""
        ours = sorted(
            i.message_id for i in batch if isinstance(i, Message) and i.message_id in self.held
        )
        for some in parts(
            [self.put(key, self.held[key][0], *self.held[key], True) for key in ours]
        ):
            left = some
            while lost := self.refused(left):
                left = [put for put in left if put not in lost]
        self.held.clear()
        self.seen.clear()

    def put(self, key: str, seen: int, token: int, value_sha256: str, done: bool) -> dict[str, Any]:
        """A claim of ours, or its end, unless somebody has moved what we saw."""
        settings, lease_ms = self.settings, int(self.settings.dynamodb_lease_seconds * 1000)
        expires_at = int(
            self.clock() + settings.dynamodb_retention_days * 86400
        )  # of a live claim, too
        item = {
            "id": self.id(key),
            "owner": self.owner,
            "lease_ms": lease_ms,
            "fencing_token": token,
            "done": done,
        }
        put = {
            "Item": item | {"value_sha256": value_sha256, "expires_at": expires_at},
            "ConditionExpression": UNMOVED,
        }
        values = {"ExpressionAttributeValues": {":seen": seen, ":no": False}}
        return {"Put": {"TableName": settings.dynamodb_table} | put | values}

    def read(self, keys: Sequence[str]) -> dict[str, Any]:
        """The items that are there, each as it is now."""
        found, table = list[dict[str, Any]](), self.settings.dynamodb_table
        for some in parts(keys):
            asked = {"Keys": [{"id": self.id(key)} for key in some], "ConsistentRead": True}
            with classify_errors():
                answer = self.client.batch_get_item(RequestItems={table: asked})
            if answer["UnprocessedKeys"]:
                raise OutageError("DynamoDB: throttled")
            found += answer["Responses"][table]
        return {item["id"].partition("#")[2]: item for item in found}

    def refused(self, writes: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Write all or nothing; what comes back are those whose condition did not hold."""
        try:
            with classify_errors():
                if writes:
                    self.client.transact_write_items(TransactItems=writes)
        except self.client.exceptions.TransactionCanceledException as error:
            reasons = [reason["Code"] for reason in error.response["CancellationReasons"]]
            if set(reasons) - {
                "None",
                "ConditionalCheckFailed",
            }:  # a conflict with another transaction, or throttled
                raise OutageError(f"DynamoDB: {error}") from error
            return [
                write for write, reason in zip(writes, reasons, strict=True) if reason != "None"
            ]
        return []

    def id(self, key: str) -> str:
        """The item's key."""
        return f"{self.settings.subscriber}#{key}"


def parts(things: Sequence[Part]) -> list[list[Part]]:
    """As many at a time as one request takes."""
    return [list(things[n : n + AT_ONCE]) for n in range(0, len(things), AT_ONCE)]


@contextmanager
def classify_errors() -> Iterator[None]:
    """What passes, or can be put right outside, leaves as an outage; a request that is not understood is a defect."""
    try:
        yield
    except ClientError as error:
        code = error.response["Error"]["Code"]
        if code in {"ValidationException", "TransactionCanceledException"}:
            raise
        raise OutageError(
            f"DynamoDB: {code}: {WAY_OUT.get(code, error.response['Error']['Message'])}"
        ) from error
    except BotoCoreError as error:
        raise OutageError(f"DynamoDB (DYNAMODB_URL): {error}") from error


def connect(settings: Settings) -> Any:
    """A client that gives up soon, because between two attempts the consumer has to poll."""
    timeout = settings.dynamodb_timeout_seconds
    config = Config(
        connect_timeout=timeout, read_timeout=timeout, retries={"total_max_attempts": 1}
    )
    return boto3.resource("dynamodb", endpoint_url=settings.dynamodb_url, config=config).meta.client


def make_table(settings: Settings) -> None:
    """The table of all subscribers, unless it is there; DynamoDB forgets what has expired."""
    client, table = connect(settings), settings.dynamodb_table
    key = {"AttributeName": "id"}
    with suppress(client.exceptions.ResourceInUseException):
        client.create_table(
            TableName=table,
            KeySchema=[key | {"KeyType": "HASH"}],
            AttributeDefinitions=[key | {"AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        client.get_waiter("table_exists").wait(TableName=table)
        forget = {"Enabled": True, "AttributeName": "expires_at"}
        client.update_time_to_live(TableName=table, TimeToLiveSpecification=forget)


def make_store(write: Write, **given: Any) -> DedupStore:
    """It forgets in two places, each by itself: a message that both have forgotten is fresh again."""
    settings = Settings(**given)
    return Leases(write, connect(settings), settings)


if __name__ == "__main__":
    make_table(Settings())
