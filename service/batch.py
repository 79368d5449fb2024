"""A batch: the records of one poll, read by the order contract and sorted into waves."""

from collections.abc import Sequence

from service.dead_letter import DeadLetter
from service.message import TooLargeError, understand
from service.metrics import BATCH_RECORDS, DUPLICATES
from service.order import InvalidOrderError
from service.record import Record
from service.store import Item

Wave = list[Item]


def read(record: Record) -> Item:
    """The message in a record, or a dead letter that says why there is none."""
    try:
        return understand(record)
    except TooLargeError as error:
        return DeadLetter(record, "too_large", str(error))
    except InvalidOrderError as error:
        return DeadLetter(record, "invalid", str(error))


def waves(records: Sequence[Record]) -> list[Wave]:
    """The batch in waves that hold each message id once; repeats with the same value are folded.

    The same id with another value goes into the next wave, where the database, which then knows the id,
    tells the conflict from the message.
    """
    found: list[Wave] = [[]]
    values: dict[str, list[str]] = {}  # the different values of each message id, as they arrived
    for item in map(read, records):
        if isinstance(item, DeadLetter):
            found[0].append(item)
            continue
        seen = values.setdefault(item.message_id, [])
        if item.value_sha256 not in seen:
            if len(seen) == len(found):
                found.append([])
            found[len(seen)].append(item)
            seen.append(item.value_sha256)
    BATCH_RECORDS.observe(len(records))
    DUPLICATES.inc(len(records) - sum(map(len, found)))
    return found
