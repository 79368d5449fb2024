"""The rule of a batch, without any input or output: what opens a group, what is summed, what closes it."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, NamedTuple

from extras.aggregator.message import Item, Message
from service.ids import derive
from service.record import DeadLetter

Place = tuple[str, int]  # topic and partition


class Group(NamedTuple):
    """The messages of one key from where it began; key and beginning are its id."""

    batch_id: str
    topic: str
    partition: int
    offset: int
    items: int = 0
    units: int = 0
    amount: Decimal = Decimal()  # of 28 digits: exact for a thousand million items

    def plus(self, item: Item) -> "Group":
        """The group with one item more."""
        units, amount = self.units + item["units"], self.amount + Decimal(item["amount"])
        return self._replace(items=self.items + 1, units=units, amount=amount)

    @property
    def begin(self) -> dict[str, Any]:
        """Where it began, under the names that every table, event and log line uses."""
        return {"topic": self.topic, "partition": self.partition, "offset": self.offset}

    @property
    def event_id(self) -> str:
        """Derived from the group's id: whoever closes it, and however often, it is the same event."""
        return derive(
            "batch-total", "{topic}/{partition}/{offset}/".format_map(self.begin) + self.batch_id
        )

    @property
    def total(self) -> dict[str, Any]:
        """The event's body: a pure function of the messages."""
        sums = {"items": self.items, "units": self.units, "amount": f"{self.amount:.2f}"}
        return {"batch_id": self.batch_id, "begin": self.begin, **sums}


class Standing(NamedTuple):
    """A partition below a position: the groups that are open there, by key.

    Of an open group that was missed (its first messages were read by a consumer that is no more) only its
    beginning is known: it is dirty, its messages are not summed, and a replay publishes it.
    """

    position: int
    open: Mapping[str, Group]
    missed: Mapping[str, Group]


class Changes(NamedTuple):
    """What a batch of messages brings about, in their sequence."""

    begun: list[Group]
    closed: list[Group]
    completed: list[
        tuple[Group, int]
    ]  # missed, and now complete: with the offset of the completion
    letters: list[DeadLetter]

    def plus(self, other: "Changes") -> "Changes":
        """Both, one after the other."""
        begun, closed = self.begun + other.begun, self.closed + other.closed
        return Changes(
            begun, closed, self.completed + other.completed, self.letters + other.letters
        )


def fold(before: Standing, messages: Iterable[Message], position: int) -> tuple[Standing, Changes]:
    """The standing after these messages of one partition, up to a position, and what they bring about."""
    opened, missed, changes = dict(before.open), dict(before.missed), Changes([], [], [], [])
    for message in messages:
        record, key = message.record, message.batch_id
        if key in missed:
            if message.item is None:
                changes.completed.append((missed.pop(key), record.offset))
        elif message.item is not None:
            if key not in opened:
                opened[key] = Group(key, record.topic, record.partition, record.offset)
                changes.begun.append(opened[key])
            opened[key] = opened[key].plus(message.item)
        elif key in opened:
            changes.closed.append(opened.pop(key))
        else:
            changes.letters.append(
                DeadLetter(record, "invalid", "complete: no batch of this key is open")
            )
    return Standing(position, opened, missed), changes


class Known(NamedTuple):
    """What tracking holds of a message id: which message came first, and where it lies."""

    sha256: str
    topic: str
    partition: int
    offset: int


def sift(
    messages: Iterable[Message], known: Mapping[str, Known]
) -> tuple[list[Message], list[DeadLetter]]:
    """The messages that count, which are those that came first; and the conflicts, the same id with another content."""
    counted, conflicts = [], []
    for message in messages:
        first = known.get(message.message_id)
        if first is None or first[1:] == message.record[:3]:
            counted.append(message)
        elif first.sha256 != message.sha256:
            reason = "message_id: already seen with another key or value"
            conflicts.append(DeadLetter(message.record, "conflict", reason))
    return counted, conflicts
