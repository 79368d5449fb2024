"""The rule of a group, without input or output: what opens it, what is summed, what closes it."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, NamedTuple

from extras.aggregator.message import Item, Message
from extras.aggregator.names import REPLAY
from service.ids import derive
from service.record import DeadLetter, Record

Partition = tuple[str, int]  # topic and number


class Group(NamedTuple):
    """The messages of one key from where the group began; key and beginning are its identity."""

    batch_id: str
    topic: str
    partition: int
    offset: int
    items: int = 0
    units: int = 0
    amount: Decimal = Decimal()  # 28 digits: exact for a thousand million items
    is_replay: bool = False  # its records were read again

    def add(self, item: Item) -> "Group":
        """Return the group with one more item."""
        return self._replace(
            items=self.items + 1,
            units=self.units + item["units"],
            amount=self.amount + Decimal(item["amount"]),
        )

    @property
    def begin(self) -> dict[str, Any]:
        """Return where it began, in the words that every table, event and log line uses."""
        return {"topic": self.topic, "partition": self.partition, "offset": self.offset}

    @property
    def event_id(self) -> str:
        """Return the id of the event that ends the group, whoever ends it and however often."""
        place = "{topic}/{partition}/{offset}/".format_map(self.begin)
        return derive("batch-total", place + self.batch_id)

    @property
    def total(self) -> dict[str, Any]:
        """Return the body of the total: a pure function of the messages."""
        return {
            "batch_id": self.batch_id,
            "begin": self.begin,
            "items": self.items,
            "units": self.units,
            "amount": f"{self.amount:.2f}",
        }


class PartitionState(NamedTuple):
    """A partition up to a position, with the groups that are open there, by key.

    Of a missed group only the beginning is known: its first messages were read by a consumer that
    is gone. Its messages are not summed; a replay publishes it.
    """

    position: int
    open: Mapping[str, Group]
    missed: Mapping[str, Group]


class Changes(NamedTuple):
    """What the messages of a batch bring about, in their sequence."""

    begun: list[Group]
    closed: list[Group]
    completed: list[tuple[Group, int]]  # missed groups, each with the offset of its completion
    letters: list[DeadLetter]

    def plus(self, other: "Changes") -> "Changes":
        """Return both, one after the other."""
        return Changes(
            self.begun + other.begun,
            self.closed + other.closed,
            self.completed + other.completed,
            self.letters + other.letters,
        )


def fold(
    before: PartitionState, messages: Iterable[Message], position: int
) -> tuple[PartitionState, Changes]:
    """Return the state of a partition after these messages, and what they bring about."""
    opened = dict(before.open)
    missed = dict(before.missed)
    changes = Changes([], [], [], [])
    for message in messages:
        record = message.record
        key = message.batch_id
        is_completion = message.item is None
        if key in missed:
            if is_completion:
                group = missed.pop(key)
                changes.completed.append((group, record.offset))
        elif message.item is not None:
            if key not in opened:
                is_replay = bool(record.header_values(REPLAY))
                begun = Group(
                    key,
                    record.topic,
                    record.partition,
                    record.offset,
                    is_replay=is_replay,
                )
                opened[key] = begun
                changes.begun.append(begun)
            opened[key] = opened[key].add(message.item)
        elif key in opened:
            group = opened.pop(key)
            changes.closed.append(group)
        else:
            reason = "complete: no batch of this key is open"
            letter = DeadLetter(record, "invalid", reason)
            changes.letters.append(letter)
    return PartitionState(position, opened, missed), changes


class FirstMessage(NamedTuple):
    """What tracking holds of a message id: which message came first, and where it is."""

    sha256: str
    topic: str
    partition: int
    offset: int

    def is_in(self, record: Record) -> bool:
        """Return whether this record is the one that came first."""
        place = (self.topic, self.partition, self.offset)
        return place == (record.topic, record.partition, record.offset)


def drop_repeats(
    messages: Iterable[Message], first_messages: Mapping[str, FirstMessage]
) -> tuple[list[Message], list[DeadLetter]]:
    """Return the messages that came first, and the conflicts: a known id with another content."""
    counted = []
    conflicts = []
    for message in messages:
        first = first_messages.get(message.message_id)
        if first is None or first.is_in(message.record):
            counted.append(message)
        elif first.sha256 != message.sha256:
            reason = "message_id: already seen with another key or value"
            conflict = DeadLetter(message.record, "conflict", reason)
            conflicts.append(conflict)
    return counted, conflicts
