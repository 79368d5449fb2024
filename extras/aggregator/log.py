"""A replay's own way into a topic: told where to read, in no group, committing nothing, and never without an end."""

import time
from collections.abc import Callable, Iterator

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from extras.aggregator.group import Place
from service.consumer import received
from service.outage import AbandonedError, OutageError
from service.record import Record

SECONDS = 10.0  # a broker that says nothing for so long is away
AT_ONCE, WINDOW = 500, 0.1


def read_between(
    kafka: dict[str, str | int | bool],
    is_stopping: Callable[[], bool],
    place: Place,
    start: int,
    stop: int,
) -> Iterator[list[Record]]:
    """The records of a partition from one offset, or the first that is still there, to another, or its end."""
    own = {"group.id": f"{kafka['group.id']}-replay", "enable.partition.eof": True}
    # check: ignore[consumer-not-seen] the live consumer's settings, which are judged there, and these two
    with Consumer(kafka | own) as consumer:
        low, high = consumer.get_watermark_offsets(TopicPartition(*place), timeout=SECONDS) or (
            0,
            0,
        )
        if (
            high < stop
        ):  # not what is gone at its beginning, but what was there and is not, or not yet again
            raise OutageError(
                f"{place[0]}/{place[1]} ends at {high}, the live consumer stands at {stop}"
            )
        at = max(start, low)
        consumer.assign([TopicPartition(*place, at)] if at < stop else [])
        deadline = time.monotonic() + SECONDS
        while at < stop:
            records, at_end = sort_out(consumer.consume(AT_ONCE, WINDOW))
            yield [record for record in records if record.offset < stop]
            at = stop if at_end else max([at, *(record.offset + 1 for record in records)])
            if is_stopping():
                raise AbandonedError("stopping")
            if records:
                deadline = time.monotonic() + SECONDS
            elif time.monotonic() > deadline:
                raise OutageError(
                    f"{place[0]}/{place[1]}: nothing came within {SECONDS:g} s, at {at} of {stop}"
                )


def sort_out(messages: list[Message]) -> tuple[list[Record], bool]:
    """The records, and whether the end of the partition came with them; what is gone meanwhile is asked for anew."""
    at_end, found = False, []
    for message in messages:
        error = message.error()
        if error is None:
            found.append(message)
        elif error.code() == KafkaError._PARTITION_EOF:
            at_end = True
        else:
            raise OutageError(f"replay: {error.str()}")
    return [record for message in found if (record := received(message))], at_end
