"""The columns without Postgres: order, claim and event in DynamoDB alone, each in its own sequence.

Before it writes, a worker asks another service something, as handlers do: so a request is a thing
of its own, which no transaction of a database takes back.
"""

import uuid
from collections.abc import Callable
from typing import Literal, NamedTuple

from extras.dynamodb.outbox.event import Event
from extras.dynamodb.outbox.transaction import Outcome, Part, Writer
from lab.dedup_matrix.effect import Moments
from service.record import Message, Record


class Hands(NamedTuple):
    """What a worker has: all that changes the world goes through here."""

    writer: Writer  # the extra's own
    request: Callable[[Message], None]  # asks another service
    send: Callable[[Event], None]  # past the outbox, straight to Kafka
    moments: Moments


class Column(NamedTuple):
    """One way to handle a record."""

    title: str
    choose_it: str  # one line: when
    handle: Callable[[Hands, Record], Outcome]
    breaks: frozenset[str]  # the anomalies after which effects or events are wrong
    dedup: Literal["claim", "number"] = "claim"


def put_last(hands: Hands, record: Record) -> Outcome:
    """Look for the claim, work, and put it when all is done: the usual form."""
    message = read(hands, record)
    if is_claimed(hands.writer, message):
        return "repeat"
    work(hands, message)
    claim(hands.writer, message)  # who comes too late here has worked all the same
    return "tallied"


def put_first(hands: Hands, record: Record) -> Outcome:
    """Put the claim, then work: who finds a claim takes the work for done."""
    message = read(hands, record)
    if not claim(hands.writer, message):
        return "repeat"
    work(hands, message)
    return "tallied"


def work(hands: Hands, message: Message) -> None:
    """Ask, change the entity and send the event, one after the other."""
    hands.request(message)
    hands.moments.before()
    add(hands.writer, message)
    hands.moments.inside()
    hands.send(event_of_chance(hands.writer, message))
    hands.moments.after()


def write_claimed(hands: Hands, record: Record) -> Outcome:
    """Claim, entity and event in one transaction; a look before saves repeats their request."""
    message = read(hands, record)
    if not is_claimed(hands.writer, message):
        hands.request(message)
    return transact(hands, record)


def write_numbered(hands: Hands, record: Record) -> Outcome:
    """Entity and event in one transaction, if the number is above the last of the entity."""
    message = read(hands, record)
    if not is_passed(hands.writer, message):
        hands.request(message)
    return transact(hands, record)


def transact(hands: Hands, record: Record) -> Outcome:
    """Let the extra write what it writes, all of it or nothing: its inside has no moment."""
    hands.moments.before()
    hands.moments.inside()
    outcome = hands.writer.write(record)
    hands.moments.after()
    return outcome


def read(hands: Hands, record: Record) -> Message:
    """Return the message in a record: the anomalies send nothing else."""
    item = hands.writer.read(record)
    assert isinstance(item, Message), item
    return item


def is_claimed(writer: Writer, message: Message) -> bool:
    """Return whether there is a claim for this message."""
    found = writer.client.get_item(
        TableName=writer.settings.tally_claim_table,
        Key={"message_id": message.message_id},
        ConsistentRead=True,
    )
    return "Item" in found


def is_passed(writer: Writer, message: Message) -> bool:
    """Return whether the entity has a number of this source that is as high."""
    update = writer.add_numbered(message)["Update"]
    found = writer.client.get_item(
        TableName=update["TableName"], Key=update["Key"], ConsistentRead=True
    )
    last = found.get("Item", {}).get(update["ExpressionAttributeNames"]["#last"], 0)
    return bool(last >= (message.sequence or 0))


def claim(writer: Writer, message: Message) -> bool:
    """Put the claim by itself; return whether there was none."""
    part: Part = writer.claim(message)["Put"]
    try:
        writer.client.put_item(**part)
    except writer.client.exceptions.ConditionalCheckFailedException:
        return False
    return True


def add(writer: Writer, message: Message) -> None:
    """Change the entity by itself."""
    writer.client.update_item(**writer.add(message)["Update"])


def event_of_chance(writer: Writer, message: Message) -> Event:
    """Return the event with an id of its own each time, as producers make them."""
    return writer.event(message)._replace(event_id=str(uuid.uuid4()))


WORKED_TWICE = frozenset({"two_workers", "rebalance", "slow_worker"})
FORGOTTEN = frozenset({"store_lost", "retention"})
COLUMNS = {
    "put_last": Column(
        title="look, work, put the claim last (the usual form)",
        choose_it="never for an effect that must not happen twice",
        handle=put_last,
        breaks=WORKED_TWICE
        | FORGOTTEN
        | {"crash_after_effect", "crash_before_effect", "another_value"},
    ),
    "put_first": Column(
        title="put the claim first, then work",
        choose_it="never: it loses what a crash interrupts",
        handle=put_first,
        breaks=FORGOTTEN | {"crash_before_effect", "another_value"},
    ),
    "claimed": Column(
        title="claim, entity and event in one transaction",
        choose_it="if all you have is DynamoDB, and ids are all that your producers give",
        handle=write_claimed,
        breaks=FORGOTTEN,
    ),
    "numbered": Column(
        title="entity and event in one transaction, the last number in the entity",
        choose_it=(
            "if producers number the events of an entity: there is no claim that one could lose"
        ),
        handle=write_numbered,
        breaks=frozenset({"older_after_newer", "another_value"}),
        dedup="number",
    ),
}
