"""The columns on DynamoDB: the service's store, and the forms of the field that it is held against."""

import time
from functools import partial
from zlib import crc32

from extras.dynamodb import store as dynamodb
from lab.dedup_matrix.laws import BREAKS
from lab.dedup_matrix.plain_dynamodb import Plain
from lab.dedup_matrix.stores import Place, Store, forget, table_size
from service.dedup import DedupStore, Write

LEASE_SECONDS = 0.5  # whoever waits for its end must still poll in time


def leases(place: Place, subscriber: str, worker: str, write: Write) -> DedupStore:
    """The service's store, with a lease that somebody can wait for, and no two workers whose clocks agree."""
    settings = dynamodb.Settings(subscriber=subscriber, dynamodb_lease_seconds=LEASE_SECONDS)
    hours = crc32(worker.encode()) % 73 - 36  # each worker's wall clock is off by its own
    return dynamodb.Leases(
        write, counted(place), settings, worker, clock=lambda: time.time() + hours * 3600
    )


def plain(again: bool, place: Place, subscriber: str, _worker: str, write: Write) -> DedupStore:
    """Look, work, and the conditional put last; perhaps with a second look in between."""
    return Plain(write, counted(place), dynamodb.Settings().dynamodb_table, subscriber, again=again)


def counted(place: Place) -> object:
    """A client whose requests are counted."""
    client = dynamodb.connect(dynamodb.Settings())
    client.meta.events.register(
        "before-send.dynamodb", lambda **_: place.requests.update(["DynamoDB"])
    )
    return client


def lose(_place: Place, subscriber: str) -> None:
    """Every item of the subscriber is gone."""
    settings = dynamodb.Settings()
    client = dynamodb.connect(settings)
    pages = client.get_paginator("scan").paginate(
        TableName=settings.dynamodb_table, ProjectionExpression="id"
    )
    for key in [item for page in pages for item in page["Items"] if f"{subscriber}#" in item["id"]]:
        client.delete_item(TableName=settings.dynamodb_table, Key=key)


def forget_both(place: Place, subscriber: str) -> None:
    """The retention of DynamoDB and that of the fence, an hour from now."""
    lose(place, subscriber)
    forget(dynamodb.FORGET, place, subscriber)


def items_size(_place: Place) -> int:
    """What DynamoDB counts: names and values; indexes it has none."""
    settings = dynamodb.Settings()
    pages = (
        dynamodb.connect(settings).get_paginator("scan").paginate(TableName=settings.dynamodb_table)
    )
    return sum(
        len(name) + len(str(value))
        for page in pages
        for item in page["Items"]
        for name, value in item.items()
    )


def both_sizes(place: Place) -> int:
    """Items and fence."""
    return items_size(place) + table_size("fence", place)


PUT_LAST = Store(
    "DynamoDB, put last (the usual form)",
    "never for an effect that must not happen twice",
    BREAKS["plain"],
    make=partial(plain, False),
    lose=lose,
    forget=lose,
    size=items_size,
    slow=True,
)
ON_DYNAMODB = {
    "plain": PUT_LAST,
    "second_look": PUT_LAST._replace(
        title="DynamoDB, put last, a second look before the effect",
        choose_it="never: the hole is narrower, and still there",
        make=partial(plain, True),
    ),
    "downstream": PUT_LAST._replace(
        title="DynamoDB, put last, and the lake removes doubles by their derived id",
        choose_it="if whoever reads the events removes doubles, and nobody else sees the effect",
        breaks=BREAKS["downstream"],
        downstream=True,
    ),
    "dynamodb": PUT_LAST._replace(
        title="DynamoDB, lease and fencing token",
        choose_it="if workers should see what others have in hand before they begin; the fence in Postgres decides",
        breaks=BREAKS["dynamodb"],
        make=leases,
        forget=forget_both,
        size=both_sizes,
    ),
}
