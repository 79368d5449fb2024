"""The shard table: who reads which shard, and how far."""

import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from extras.dynamodb.outbox.connection import classify_errors
from extras.dynamodb.outbox.settings import SECONDS_OF_A_DAY, Settings
from extras.dynamodb.outbox.shards import START, Lease

# The stream lists a shard for a day after it was closed, and its children for a day after that.
DONE_DAYS = 7

NOTE_SECONDS = 60.0  # for somebody who asks whether it was a day

NOBODY = ""
UNKNOWN = 0  # the token of a shard that is not in the table


class FencedError(Exception):
    """Another relay has taken the shard over."""


class Sighting(NamedTuple):
    """Another relay's token, and since when it has not changed."""

    token: int
    since: float


class Known(NamedTuple):
    """What is in the table."""

    leases: dict[str, Lease]  # by shard
    stream: str | None = None  # whose shards these are; None if no relay has ever begun
    away_seconds: float = 0  # since any relay has gone through all of them


@dataclass
class Leases:
    """The leases of one relay.

    Clocks may differ. So a lease has no time at which it ends: a relay takes a shard over
    after it has seen the same token for as long as the lease is.
    """

    client: Any
    settings: Settings
    owner: str = field(default_factory=lambda: uuid.uuid4().hex)
    elapsed: Callable[[], float] = time.monotonic
    clock: Callable[[], float] = time.time  # only for what takes days
    seen: dict[str, Sighting] = field(default_factory=dict)
    renewed: dict[str, float] = field(default_factory=dict)  # ours, and when

    def read(self) -> Known:
        """Return everything that is in the table now."""
        items = {item["id"]: item for item in self.scan()}
        stream = items.pop(self.stream_id, None)
        known = Known({shard_id: from_item(item) for shard_id, item in items.items()})
        if stream is None:
            return known
        away_seconds = self.clock() - float(stream["read_at"])
        return known._replace(stream=stream["stream"], away_seconds=away_seconds)

    def scan(self) -> Iterator[dict[str, Any]]:
        """Yield every item of the table: there are as many as a week has shards."""
        paginator = self.client.get_paginator("scan")
        with classify_errors():
            for page in paginator.paginate(TableName=self.table, ConsistentRead=True):
                yield from page["Items"]

    def note_stream(self, stream: str) -> None:
        """Note which stream the leases are of, once its first shards are in the table."""
        item = {"id": self.stream_id, "stream": stream, "read_at": int(self.clock())}
        with classify_errors():
            self.client.put_item(TableName=self.table, Item=item)

    def note_turn(self, known: Known) -> None:
        """Note from time to time that a relay has gone through all shards."""
        if known.away_seconds < NOTE_SECONDS:
            return
        gone = self.client.exceptions.ConditionalCheckFailedException
        with classify_errors(), suppress(gone):  # then everything was forgotten meanwhile
            self.client.update_item(
                TableName=self.table,
                Key={"id": self.stream_id},
                UpdateExpression="SET read_at = :now",
                ConditionExpression="attribute_exists(id)",
                ExpressionAttributeValues={":now": int(self.clock())},
            )

    def begin(self, shard_id: str, *, is_done: bool) -> None:
        """Note one of the first shards of a stream, unless another relay has done so."""
        lease = Lease(shard_id, NOBODY, UNKNOWN + 1, 0, START, is_done)
        with suppress(FencedError):
            self.write(lease, UNKNOWN)

    def take(self, shard_id: str, known: Known) -> Lease | None:
        """Return our lease of a shard, or None as long as another relay has it."""
        unknown = Lease(shard_id, NOBODY, UNKNOWN, 0, START, is_done=False)
        lease = known.leases.get(shard_id, unknown)
        if lease.owner == self.owner:
            return lease
        if lease.owner != NOBODY and not self.has_ended(lease):
            return None
        try:
            return self.write(self.renew(lease), lease.token)
        except FencedError:  # another relay was faster
            return None

    def has_ended(self, lease: Lease) -> bool:
        """Return whether we have seen a lease stand still for as long as it lasts."""
        sighting = self.seen.get(lease.shard_id)
        if sighting is None or sighting.token != lease.token:
            sighting = Sighting(lease.token, self.elapsed())
            self.seen[lease.shard_id] = sighting
        return self.elapsed() - sighting.since >= lease.lease_ms / 1000

    def advance(self, lease: Lease, checkpoint: str, *, is_done: bool) -> Lease:
        """Note how far we are, or raise a FencedError; without news only now and then."""
        a_third = self.settings.relay_lease_seconds / 3
        renewed = self.renewed.get(lease.shard_id, float("-inf"))
        is_fresh = self.elapsed() - renewed < a_third
        has_news = is_done or checkpoint != lease.checkpoint
        if is_fresh and not has_news:
            return lease
        further = self.renew(lease)._replace(checkpoint=checkpoint, is_done=is_done)
        return self.write(further, lease.token)

    def renew(self, lease: Lease) -> Lease:
        """Return a lease as ours, from now on."""
        lease_ms = round(1000 * self.settings.relay_lease_seconds)
        return lease._replace(owner=self.owner, token=lease.token + 1, lease_ms=lease_ms)

    def write(self, lease: Lease, seen: int) -> Lease:
        """Write a lease if the table still has what we saw, or else raise a FencedError."""
        condition: dict[str, Any] = {"ConditionExpression": "attribute_not_exists(id)"}
        if seen != UNKNOWN:
            condition = {
                "ConditionExpression": "fencing_token = :seen",
                "ExpressionAttributeValues": {":seen": seen},
            }
        with classify_errors():
            try:
                self.client.put_item(TableName=self.table, Item=self.to_item(lease), **condition)
            except self.client.exceptions.ConditionalCheckFailedException as error:
                raise FencedError(lease.shard_id) from error
        self.renewed[lease.shard_id] = self.elapsed()
        return lease

    def to_item(self, lease: Lease) -> dict[str, Any]:
        """Return a lease as it is kept; DynamoDB deletes it some time after the shard is done."""
        item = {
            "id": lease.shard_id,
            "owner": lease.owner,
            "fencing_token": lease.token,
            "lease_ms": lease.lease_ms,
            "checkpoint": lease.checkpoint,
            "done": lease.is_done,
        }
        if lease.is_done:
            item["expires_at"] = int(self.clock() + DONE_DAYS * SECONDS_OF_A_DAY)
        return item

    def forget(self) -> None:
        """Delete everything: whoever has a shard now is fenced, and the next turn begins anew."""
        for item in list(self.scan()):
            with classify_errors():
                self.client.delete_item(TableName=self.table, Key={"id": item["id"]})

    @property
    def table(self) -> str:
        """Return the name of the shard table."""
        return self.settings.tally_shard_table

    @property
    def stream_id(self) -> str:
        """Return the id of the item that says which stream the others are of."""
        return f"stream of {self.settings.tally_outbox_table}"


def from_item(item: dict[str, Any]) -> Lease:
    """Return the lease in an item."""
    return Lease(
        shard_id=item["id"],
        owner=item["owner"],
        token=int(item["fencing_token"]),
        lease_ms=int(item["lease_ms"]),
        checkpoint=item["checkpoint"],
        is_done=item["done"],
    )
