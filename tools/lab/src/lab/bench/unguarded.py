"""python -m lab.bench.unguarded: the real service without its guarantees, for comparison.

It reads, decides and writes the business's rows and the outbox in one transaction, as ever. It
remembers no message, hashes no value, asks no row what came before, does not ask whether the topic
is still the same one, and does not wait for an outage to end.
"""

from functools import partial
from typing import Any

from sqlalchemy import Engine

from contract.order import InvalidOrderError, parse_order, total
from lab.dedup_matrix.controls import no_memory
from service.__main__ import main, wire
from service.consumer import RecordConsumer
from service.handler import Steps
from service.record import DeadLetter, Item, Message, Record, read_message_id, read_trace
from service.rule import facts
from service.settings import Settings
from service.write import NOTHING, RULE, write

NOT_HASHED = ""


def wire_without_guarantees(settings: Settings, engine: Engine, consumer: RecordConsumer) -> Steps:
    """Return the real steps, with another write and another way to read a record."""
    store = no_memory(partial(write, engine, settings.subscriber, rule=FORGETFUL))
    steps = wire(settings, engine, consumer)
    return steps._replace(write=store.claim, read=read_without_hash)


def read_without_hash(record: Record) -> Item:
    """Return the message in a record, or a dead letter that says why there is none."""
    try:
        message_id = read_message_id(record)
        order = parse_order(record.value or b"")
        return Message(record, message_id, NOT_HASHED, order, total(order), read_trace(record))
    except InvalidOrderError as error:
        return DeadLetter(record, "invalid", str(error))


def facts_without_hash(message: Message, subscriber: str) -> dict[str, Any]:
    """Return the rule's columns, and none for the hash that there is not."""
    return {**facts(message, subscriber), "value_sha256": None}


FORGETFUL = RULE._replace(facts=facts_without_hash, known=NOTHING)


if __name__ == "__main__":
    main(wire_without_guarantees)
