"""The stream of the outbox: its shards, and a shard page by page."""

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from boto3.dynamodb.types import TypeDeserializer

from extras.dynamodb.outbox.connection import MAKE_TABLES, Clients, classify_errors
from extras.dynamodb.outbox.event import Event, from_item
from extras.dynamodb.outbox.settings import Settings
from extras.dynamodb.outbox.shards import START, Lease, LostRecordsError, Shard
from service.logs import exit_with_error

DESERIALIZER = TypeDeserializer()

# A modified item has the same event: it was only given another time at which it expires. What was
# removed has expired.
PUBLISHED = {"INSERT", "MODIFY"}


class Page(NamedTuple):
    """What one request returned of a shard."""

    events: list[Event]
    checkpoint: str  # the last record
    next_iterator: str | None  # None: the shard is closed, and this is its end


def find_stream(clients: Clients, settings: Settings) -> str:
    """Return the stream of the outbox, or end the process if there is none."""
    name = settings.tally_outbox_table
    with classify_errors():
        found = clients.tables.describe_table(TableName=name)["Table"]
    stream: str | None = found.get("LatestStreamArn")
    if stream is None:
        exit_with_error(
            f"TALLY_OUTBOX_TABLE={name}: it has no stream; `{MAKE_TABLES}` gives it one"
        )
    return stream


@dataclass
class Stream:
    """One stream, and where we are in the shards that we read."""

    client: Any
    stream: str
    page_records: int
    # Where to go on, by shard and checkpoint: a page may be empty, and the next one not.
    iterators: dict[tuple[str, str], str] = field(default_factory=dict)

    def list_shards(self) -> list[Shard]:
        """Return every shard that the stream still has."""
        shards: list[Shard] = []
        more: dict[str, str] = {}
        while True:
            with classify_errors():
                found = self.client.describe_stream(StreamArn=self.stream, **more)
            described = found["StreamDescription"]
            shards += [to_shard(shard) for shard in described["Shards"]]
            last = described.get("LastEvaluatedShardId")
            if last is None:
                return shards
            more = {"ExclusiveStartShardId": last}

    def read(self, lease: Lease) -> Page:
        """Return the next page of a shard; raise a LostRecordsError if it is gone."""
        exceptions = self.client.exceptions
        with classify_errors():
            try:
                found = self.request(lease)
            except exceptions.TrimmedDataAccessException as error:
                raise LostRecordsError(f"records of shard {lease.shard_id} are gone") from error
            except exceptions.ResourceNotFoundException as error:
                raise LostRecordsError(f"shard {lease.shard_id} is gone") from error
        records = found["Records"]
        checkpoint = records[-1]["dynamodb"]["SequenceNumber"] if records else lease.checkpoint
        events = [to_event(record) for record in records if record["eventName"] in PUBLISHED]
        return Page(events, checkpoint, found.get("NextShardIterator"))

    def request(self, lease: Lease) -> dict[str, Any]:
        """Ask for a page, with the iterator that we have kept or else from the checkpoint on.

        If it is not good any more, ask with a new one: what that leads to is the truth. DynamoDB
        Local takes one of an empty shard for trimmed when the first record has come, even if it
        was made a moment before.
        """
        exceptions = self.client.exceptions
        kept = self.iterators.pop((lease.shard_id, lease.checkpoint), None)
        with suppress(
            exceptions.ExpiredIteratorException,
            exceptions.TrimmedDataAccessException,
        ):
            return self.get_records(kept or self.find_iterator(lease))
        return self.get_records(self.find_iterator(lease))

    def get_records(self, iterator: str) -> dict[str, Any]:
        """Return what comes behind an iterator."""
        found: dict[str, Any] = self.client.get_records(
            ShardIterator=iterator,
            Limit=self.page_records,
        )
        return found

    def find_iterator(self, lease: Lease) -> str:
        """Return an iterator that begins behind the checkpoint of a lease."""
        place = {"ShardIteratorType": "TRIM_HORIZON"}
        if lease.checkpoint != START:
            place = {
                "ShardIteratorType": "AFTER_SEQUENCE_NUMBER",
                "SequenceNumber": lease.checkpoint,
            }
        found = self.client.get_shard_iterator(
            StreamArn=self.stream,
            ShardId=lease.shard_id,
            **place,
        )
        iterator: str = found["ShardIterator"]
        return iterator

    def go_on(self, lease: Lease, page: Page) -> None:
        """Go on behind this page, now that it is noted as sent."""
        if page.next_iterator:
            self.iterators[lease.shard_id, lease.checkpoint] = page.next_iterator

    def can_read(self, shard: Shard) -> bool:
        """Return whether the stream still has the records of a shard that it lists."""
        try:
            self.read(Lease(shard.shard_id, "", 0, 0, START, is_done=False))
        except LostRecordsError:
            return False
        return True


def to_shard(described: dict[str, Any]) -> Shard:
    """Return a shard from its description."""
    return Shard(described["ShardId"], described.get("ParentShardId"))


def to_event(record: dict[str, Any]) -> Event:
    """Return the event in a record of the stream, whose values have their types beside them."""
    image = record["dynamodb"]["NewImage"]
    return from_item({name: DESERIALIZER.deserialize(value) for name, value in image.items()})
