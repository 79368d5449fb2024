"""The columns on DynamoDB: the extra's store, and the usual forms that it is compared with."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any
from zlib import crc32

from extras.dynamodb import store as dynamodb
from lab.dedup_matrix.candidate import Backends, Candidate, apply_retention, table_size
from lab.dedup_matrix.controls import CHOSEN_FRESH
from lab.dedup_matrix.effect import go_on
from service.dedup import DedupStore, Handled, Write
from service.record import Item, Message

LEASE_SECONDS = 0.5  # a worker that waits for its end must still poll in time
CLOCK_HOURS = 36  # wall clocks may be wrong by this much, ahead or behind


@dataclass
class PutLast:
    """Look, work, and put last on a condition; it is shown to double.

    Between the look and the put is the work: a worker that comes meanwhile, or after a crash, works
    once more. A worker that loses the put takes its message for a duplicate, after it has worked.
    `again` looks once more just before the effect, when the `work` (a request, say) is done: the
    hole is then as wide as the effect alone, and still there.
    """

    write: Write
    client: Any
    table: str
    subscriber: str
    again: bool = False
    work: Callable[[], None] = go_on
    needs_sequence: bool = False

    def claim(self, batch: Sequence[Item]) -> dict[str, Handled]:
        """Work on what is not in the table yet, and give it its effect."""
        fresh = self.unknown([item.message_id for item in batch if isinstance(item, Message)])
        self.work()
        if self.again:
            fresh = self.unknown(fresh)
        return self.write(CHOSEN_FRESH, batch, message_ids=fresh)

    def unknown(self, message_ids: Sequence[str]) -> list[str]:
        """Return those that are not in the table now."""
        return [message_id for message_id in message_ids if not self.is_known(message_id)]

    def is_known(self, message_id: str) -> bool:
        """Return whether there is an item for this message."""
        found = self.client.get_item(
            TableName=self.table,
            Key=self.key(message_id),
            ConsistentRead=True,
        )
        return "Item" in found

    def settle(self, batch: Sequence[Item]) -> None:
        """Put an item for each message, unless there is one."""
        for item in batch:
            if isinstance(item, Message):
                with suppress(self.client.exceptions.ConditionalCheckFailedException):
                    self.client.put_item(
                        TableName=self.table,
                        Item=self.key(item.message_id),
                        ConditionExpression="attribute_not_exists(id)",
                    )

    def key(self, message_id: str) -> dict[str, str]:
        """Return a key that no item of the store with leases has."""
        return {"id": f"plain/{self.subscriber}#{message_id}"}


def make_leases(backends: Backends, subscriber: str, worker: str, write: Write) -> DedupStore:
    """Make the extra's store with a short lease; no two workers have clocks that agree."""
    settings = dynamodb.Settings(subscriber=subscriber, dynamodb_lease_seconds=LEASE_SECONDS)
    hours = crc32(worker.encode()) % (2 * CLOCK_HOURS + 1) - CLOCK_HOURS
    client = counting_client(backends)
    return dynamodb.Leases(
        write,
        client,
        settings,
        worker,
        clock=lambda: time.time() + hours * 3600,
    )


def make_put_last(
    again: bool,
    backends: Backends,
    subscriber: str,
    _worker: str,
    write: Write,
) -> DedupStore:
    """Make the usual form, perhaps with a second look before the effect."""
    table = dynamodb.Settings().dynamodb_table
    return PutLast(write, counting_client(backends), table, subscriber, again=again)


def counting_client(backends: Backends) -> Any:
    """Return a client whose requests are counted."""
    client = dynamodb.connect(dynamodb.Settings())

    def count_request(**_: Any) -> None:
        backends.requests.update(["DynamoDB"])

    client.meta.events.register("before-send.dynamodb", count_request)
    return client


def delete_items(_backends: Backends, subscriber: str) -> None:
    """Delete every item of the subscriber."""
    settings = dynamodb.Settings()
    client = dynamodb.connect(settings)
    pages = client.get_paginator("scan").paginate(
        TableName=settings.dynamodb_table,
        ProjectionExpression="id",
    )
    keys = [item for page in pages for item in page["Items"]]
    for key in keys:
        if f"{subscriber}#" in key["id"]:
            client.delete_item(TableName=settings.dynamodb_table, Key=key)


def forget_both(backends: Backends, subscriber: str) -> None:
    """Apply the retention of DynamoDB and that of the fence."""
    delete_items(backends, subscriber)
    apply_retention(dynamodb.FORGET, backends, subscriber)


def size_of_items(_backends: Backends) -> int:
    """Return what DynamoDB counts: names and values; there are no indexes."""
    settings = dynamodb.Settings()
    scan = dynamodb.connect(settings).get_paginator("scan")
    size = 0
    for page in scan.paginate(TableName=settings.dynamodb_table):
        for item in page["Items"]:
            size += sum(len(name) + len(str(value)) for name, value in item.items())
    return size


def size_of_both(backends: Backends) -> int:
    """Return the size of items and fence."""
    return size_of_items(backends) + table_size("fence", backends)


PUT_LAST = Candidate(
    title="DynamoDB, put last (the usual form)",
    choose_it="never for an effect that must not happen twice",
    make=partial(make_put_last, False),
    lose=delete_items,
    forget=delete_items,
    size=size_of_items,
    breaks=frozenset(
        {
            "two_workers",
            "rebalance",
            "slow_worker",
            "crash_after_effect",
            "store_lost",
            "retention",
            "another_value",
            "older_state",
        }
    ),
    slow=True,
)
ON_DYNAMODB = {
    "plain": PUT_LAST,
    "second_look": PUT_LAST._replace(
        title="DynamoDB, put last, a second look before the effect",
        choose_it="never: the hole is narrower, and still there",
        make=partial(make_put_last, True),
    ),
    # A lake that knows derived ids sees a double once; what is dropped it does not see.
    "downstream": PUT_LAST._replace(
        title="DynamoDB, put last, and the lake removes doubles by their derived id",
        choose_it="if every reader of the events removes doubles, and nobody else sees the effect",
        breaks=frozenset({"another_value", "older_state"}),
        downstream=True,
    ),
    "dynamodb": PUT_LAST._replace(
        title="DynamoDB, lease and fencing token",
        choose_it=(
            "if workers should see what others are working on before they begin; "
            "the fence in Postgres decides"
        ),
        make=make_leases,
        forget=forget_both,
        size=size_of_both,
        breaks=frozenset({"retention", "older_state"}),
    ),
}
